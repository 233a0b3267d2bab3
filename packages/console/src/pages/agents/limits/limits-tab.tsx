/** The spend limits of an agent, and how much of each present window is used. A change applies to the next message and creates no version. */
import { Alert, Button, Group, Select, Stack, Table, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, segment } from '../../../api/client.ts'
import type { Agent } from '../../../api/types.ts'
import { Confirm } from '../../../show/confirm.tsx'
import { FailureNote } from '../../../show/failure-note.tsx'
import { Money } from '../../../show/money.tsx'
import { Panel } from '../../../show/panel.tsx'
import { refusalOf, relocated, within } from '../../../show/refusal.ts'
import type { Refusal } from '../../../show/refusal.ts'
import { Waiting } from '../../../show/waiting.tsx'
import { useSpending } from '../../../show/limits/spending.ts'
import { SpendingTable } from '../../../show/limits/spending-table.tsx'
import { labelOf, scopes, windows } from '../../../show/limits/limit-names.ts'

type Limit = Agent['spend_limits'][number]

const isSame = (a: Pick<Limit, 'scope' | 'window'>, b: Pick<Limit, 'scope' | 'window'>): boolean =>
  a.scope === b.scope && a.window === b.window

export function LimitsTab({ agent }: { agent: Agent }) {
  const queries = useQueryClient()
  const path = `/agents/${segment(agent.id)}`
  const spending = useSpending(agent.id)
  const [removing, setRemoving] = useState<Limit | null>(null)
  const save = useMutation({
    meta: { done: 'Limits changed' },
    // The list is loaded again before it is sent, so that other operators' changes to other limits are kept.
    mutationFn: async ({ limit, isRemoved }: { limit: Limit; isRemoved: boolean }) => {
      const others = (await call<Agent>(path)).spend_limits.filter((one) => !isSame(one, limit))
      const body = { spend_limits: isRemoved ? others : [...others, limit] }
      return call<Agent>(path, { method: 'PATCH', body }).catch((error: unknown) => {
        throw relocated(error, within(`spend_limits.${others.length}`))
      })
    },
    onSuccess: (changed) => {
      setRemoving(null)
      queries.setQueryData(['agents', agent.id], changed)
      void queries.invalidateQueries({ queryKey: ['agents'] })
      void queries.invalidateQueries({ queryKey: ['spending'] })
    },
  })
  const refused = refusalOf(removing ? null : save.error, limitFields)
  return (
    <Stack>
      <Text size="sm">
        Limits what is spent in a window. Over a limit, a message is rejected with 402 <code>spend_limit_exceeded</code>. A change applies
        to the next message and does not create a version. One end user can have other limits:{' '}
        <code>npx --no-install turnkeep limit set --user</code>.
      </Text>
      <LimitTable
        limits={agent.spend_limits}
        pending={save.isPending}
        onRemove={(limit) => {
          save.reset()
          setRemoving(limit)
        }}
      />
      {agent.warnings.map((warning) => (
        <Alert key={warning} color="yellow" variant="light" title="A limit rejects every message">
          {warning}
        </Alert>
      ))}
      <AddLimit pending={save.isPending} refused={refused} onAdd={(limit) => save.mutateAsync({ limit, isRemoved: false })} />
      <FailureNote error={refused.rest} title="Could not change the limits" />
      <Confirm
        opened={removing !== null}
        title="Remove this limit?"
        verb="Remove limit"
        pending={save.isPending}
        error={save.error}
        onConfirm={() => removing && save.mutate({ limit: removing, isRemoved: true })}
        onClose={() => setRemoving(null)}
      >
        {removing ? (
          <Text size="sm">
            {labelOf(scopes, removing.scope)}, {labelOf(windows, removing.window)}: <Money amount={removing.usd} />. From the next message
            on, this limit does not apply anymore.
          </Text>
        ) : null}
      </Confirm>
      <Waiting for={spending} what="what is spent">
        {({ data }) =>
          data.length === 0 ? null : (
            <Panel title="Used now">
              <SpendingTable agentId={agent.id} rows={data} />
            </Panel>
          )
        }
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

const limitFields = ['scope', 'window', 'usd'] as const

type AddLimitProps = {
  pending: boolean
  refused: Refusal<(typeof limitFields)[number]>
  onAdd: (limit: Limit) => Promise<unknown>
}

/** A limit of the same scope and window is replaced. */
function AddLimit({ pending, refused, onAdd }: AddLimitProps) {
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
          error={refused.at('scope')}
        />
        <Select
          label="Window"
          data={windows}
          value={window}
          allowDeselect={false}
          onChange={(value) => value && setWindow(value as Limit['window'])}
          error={refused.at('window')}
        />
        <TextInput
          label="Limit (USD)"
          value={usd}
          error={isWrong ? 'Enter an amount such as 5.00.' : refused.at('usd')}
          onChange={(event) => setUsd(event.currentTarget.value)}
        />
        <Button type="submit" mt={24} loading={pending}>
          Set limit
        </Button>
      </Group>
    </form>
  )
}
