/** The spend limits of an agent, and how much of each present window is used. A change applies to the next message and creates no version. */
import { Button, Group, Progress, Select, Stack, Table, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, segment } from '../../../api/client.ts'
import type { Agent, Spending } from '../../../api/types.ts'
import { FailureNote } from '../../../show/failure-note.tsx'
import { Moment } from '../../../show/moment.tsx'
import { Money } from '../../../show/money.tsx'
import { Waiting } from '../../../show/waiting.tsx'
import { usedPercent } from './used-percent.ts'

type Limit = Agent['spend_limits'][number]

const scopes = [
  { value: 'end_user', label: 'Each external user' },
  { value: 'api_key', label: 'Each API key' },
  { value: 'agent', label: 'This agent' },
]
const windows = [
  { value: 'day', label: 'UTC day' },
  { value: 'month', label: 'UTC month' },
  { value: 'total', label: 'All time' },
]
const labelOf = (choices: { value: string; label: string }[], value: string): string =>
  choices.find((choice) => choice.value === value)?.label ?? value
const isSame = (a: Pick<Limit, 'scope' | 'window'>, b: Pick<Limit, 'scope' | 'window'>): boolean =>
  a.scope === b.scope && a.window === b.window

export function LimitsTab({ agent }: { agent: Agent }) {
  const queries = useQueryClient()
  const path = `/agents/${segment(agent.id)}`
  const spending = useQuery({
    queryKey: ['spending', agent.id],
    queryFn: ({ signal }) => call<{ data: Spending[] }>(`${path}/spending`, { signal }),
  })
  const save = useMutation({
    mutationFn: (limits: Limit[]) => call<Agent>(path, { method: 'PATCH', body: { spend_limits: limits } }),
    onSuccess: (changed) => {
      queries.setQueryData(['agents', agent.id], changed)
      void queries.invalidateQueries({ queryKey: ['agents'] })
      void queries.invalidateQueries({ queryKey: ['spending'] })
    },
  })
  return (
    <Stack>
      <Text size="sm">
        Limits what is spent in a window. Over a limit, a message is rejected with 402 <code>spend_limit_exceeded</code>. A change applies
        to the next message and does not create a version. One external user can have other limits:{' '}
        <code>npx turnkeep limit set --user</code>.
      </Text>
      <LimitTable
        limits={agent.spend_limits}
        pending={save.isPending}
        onRemove={(limit) => save.mutate(agent.spend_limits.filter((one) => !isSame(one, limit)))}
      />
      <AddLimit
        pending={save.isPending}
        onAdd={(limit) => save.mutateAsync([...agent.spend_limits.filter((one) => !isSame(one, limit)), limit])}
      />
      <FailureNote error={save.error} title="Could not change the limits" />
      <Waiting for={spending} what="what is spent">
        {({ data }) => (data.length === 0 ? null : <SpendingTable rows={data} />)}
      </Waiting>
    </Stack>
  )
}

function LimitTable({ limits, pending, onRemove }: { limits: Limit[]; pending: boolean; onRemove: (limit: Limit) => void }) {
  if (limits.length === 0) return <Text c="dimmed">No limits. The balance of the owner limits what is spent.</Text>
  return (
    <Table aria-label="Spend limits">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Applies to</Table.Th>
          <Table.Th scope="col">Window</Table.Th>
          <Table.Th scope="col" ta="right">
            Limit
          </Table.Th>
          <Table.Th scope="col">Actions</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {limits.map((limit) => (
          <Table.Tr key={`${limit.scope} ${limit.window}`}>
            <Table.Td>{labelOf(scopes, limit.scope)}</Table.Td>
            <Table.Td>{labelOf(windows, limit.window)}</Table.Td>
            <Table.Td ta="right">
              <Money amount={limit.usd} />
            </Table.Td>
            <Table.Td>
              <Button size="compact-xs" variant="default" disabled={pending} onClick={() => onRemove(limit)}>
                Remove limit
              </Button>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

/** A limit of the same scope and window is replaced. */
function AddLimit({ pending, onAdd }: { pending: boolean; onAdd: (limit: Limit) => Promise<unknown> }) {
  const [scope, setScope] = useState<Limit['scope']>('end_user')
  const [window, setWindow] = useState<Limit['window']>('day')
  const [usd, setUsd] = useState('')
  const [isWrong, setWrong] = useState(false)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!/^\d{1,10}(\.\d{1,8})?$/.test(usd.trim())) return setWrong(true)
        setWrong(false)
        void onAdd({ scope, usd: usd.trim(), window }).then(
          () => setUsd(''),
          () => undefined,
        )
      }}
    >
      <Group align="flex-start">
        <Select
          label="Applies to"
          data={scopes}
          value={scope}
          allowDeselect={false}
          onChange={(value) => value && setScope(value as Limit['scope'])}
        />
        <Select
          label="Window"
          data={windows}
          value={window}
          allowDeselect={false}
          onChange={(value) => value && setWindow(value as Limit['window'])}
        />
        <TextInput
          label="Limit (USD)"
          value={usd}
          error={isWrong ? 'Enter an amount such as 5.00.' : undefined}
          onChange={(event) => setUsd(event.currentTarget.value)}
        />
        <Button type="submit" mt={24} loading={pending}>
          Set limit
        </Button>
      </Group>
    </form>
  )
}

function SpendingTable({ rows }: { rows: Spending[] }) {
  return (
    <Table.ScrollContainer minWidth={700}>
      <Table aria-label="Spent in the current windows">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Of</Table.Th>
            <Table.Th scope="col">Window</Table.Th>
            <Table.Th scope="col">Used</Table.Th>
            <Table.Th scope="col" ta="right">
              Spent
            </Table.Th>
            <Table.Th scope="col" ta="right">
              Held
            </Table.Th>
            <Table.Th scope="col" ta="right">
              Unpaid
            </Table.Th>
            <Table.Th scope="col">Ends</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <SpendingRow key={`${row.scope} ${row.window} ${row.key_id}`} row={row} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function SpendingRow({ row }: { row: Spending }) {
  const percent = usedPercent(row)
  const name = `${row.key_id ?? labelOf(scopes, row.scope)}, ${labelOf(windows, row.window)}`
  return (
    <Table.Tr>
      <Table.Td>{row.key_id ?? labelOf(scopes, row.scope)}</Table.Td>
      <Table.Td>{labelOf(windows, row.window)}</Table.Td>
      <Table.Td>
        <Text size="xs">
          {percent} % of <Money amount={row.limit_usd} />
        </Text>
        <Progress
          value={Math.min(100, percent)}
          color={percent >= 100 ? 'red' : percent >= 80 ? 'yellow' : 'blue'}
          aria-label={`Used: ${name}`}
        />
      </Table.Td>
      <Table.Td ta="right">
        <Money amount={row.spent_usd} />
      </Table.Td>
      <Table.Td ta="right">
        <Money amount={row.held_usd} />
      </Table.Td>
      <Table.Td ta="right">
        <Money amount={row.unpaid_usd} />
      </Table.Td>
      <Table.Td>{row.ends_at === null ? 'never' : <Moment at={row.ends_at} />}</Table.Td>
    </Table.Tr>
  )
}
