/** All turns, newest first, by agent, end user, state and trace ID. Each leads to its trace. The filters are in the address. */
import { Anchor, Button, Group, Select, Stack, Table, Text, TextInput } from '@mantine/core'
import { memo } from 'react'
import type { CSSProperties } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useList } from '../../api/lists.ts'
import type { Turn } from '../../api/types.ts'
import { AgentSelect } from '../../show/agent-select.tsx'
import { Empty } from '../../show/empty.tsx'
import { FilterFold } from '../../show/filter-fold.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { latencyOf, writeCount, writeMs } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Money } from '../../show/money.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Page } from '../../show/page.tsx'
import { ReplyEndBadge, StateBadge } from '../../show/state-badge.tsx'
import classes from '../../show/trace.module.css'
import { AgentCell, EndUserCell, TraceCell } from '../../show/turn-cells.tsx'
import { useDraft } from '../../show/use-draft.ts'
import { Waiting } from '../../show/waiting.tsx'

const states = [
  { value: 'running', label: 'Running' },
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
  { value: 'released', label: 'Released' },
  { value: 'cancelled', label: 'Cancelled' },
]

// Running turns are in the list, and end.
const readAgainMs = 5_000
const isTraceId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text)

export function Traces() {
  const [params, setParams] = useSearchParams()
  const given = params.get('trace_id')
  const agentId = params.get('agent_id')
  const filters = {
    agent_id: agentId,
    // An end user is one of an agent.
    external_user_id: agentId === null ? null : params.get('external_user_id') || null,
    status: states.find(({ value }) => value === params.get('status'))?.value ?? null,
    trace_id: given !== null && isTraceId(given) ? given : null,
  }
  const active = Object.values(filters).filter((value) => value !== null).length
  const change = (changed: Partial<typeof filters>): void =>
    setParams(Object.entries({ ...filters, ...changed }).filter((entry): entry is [string, string] => entry[1] !== null))
  const list = useList<Turn>(['turns', 'all'], '/turns', filters, { refetchMs: readAgainMs })
  return (
    <Page title="Traces" lead="Every turn with what the agent was sent, what it did, and what it cost.">
      <FilterFold count={active}>
        <Group align="flex-start" gap="sm" component="search" aria-label="Traces">
          <AgentSelect value={filters.agent_id} onChange={(id) => change({ agent_id: id, external_user_id: null })} clearable />
          <UserInput
            value={filters.external_user_id}
            disabled={filters.agent_id === null}
            onChange={(user) => change({ external_user_id: user })}
          />
          <Select
            label="Status"
            placeholder="All statuses"
            data={states}
            value={filters.status}
            onChange={(status) => change({ status })}
            clearable
            clearButtonProps={{ 'aria-label': 'Clear status', 'aria-hidden': false, tabIndex: 0 }}
            w="100%"
            maw={{ base: '100%', sm: 200 }}
          />
          <TraceIdInput value={filters.trace_id} onChange={(id) => change({ trace_id: id })} />
        </Group>
      </FilterFold>
      <Waiting for={list.query} what="turns">
        {() =>
          list.items.length === 0 ? (
            active > 0 ? (
              <Empty
                title="No turns match"
                action={
                  <Button variant="default" size="xs" onClick={() => setParams({})}>
                    Clear filters
                  </Button>
                }
              >
                No turn has all of these: agent, end user, state and trace ID.
              </Empty>
            ) : (
              <Empty
                title="No turns yet"
                action={
                  <Anchor component={Link} href="/playground" underline="always">
                    Open the playground
                  </Anchor>
                }
              >
                A turn starts with a message to an agent, from your program or from the playground. Its trace shows what the agent was sent
                and what it did.
              </Empty>
            )
          ) : (
            <Stack gap="xs">
              <TurnTable turns={list.items} />
              <MoreButton list={list} />
            </Stack>
          )
        }
      </Waiting>
    </Page>
  )
}

/** Applied with Enter or on leaving the field, because it matches exactly. */
function UserInput({ value, disabled, onChange }: { value: string | null; disabled: boolean; onChange(user: string | null): void }) {
  const [text, setText] = useDraft(value ?? '')
  const apply = (): void => {
    if (text !== (value ?? '')) onChange(text === '' ? null : text)
  }
  return (
    <TextInput
      label="End user"
      placeholder={disabled ? 'Choose an agent first' : 'Exact ID'}
      value={text}
      maxLength={255}
      disabled={disabled}
      autoComplete="off"
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={apply}
      onKeyDown={(event) => {
        if (event.key === 'Enter') apply()
      }}
      w="100%"
      maw={{ base: '100%', sm: 220 }}
    />
  )
}

/** Of a `traceparent` header, as a caller's own tracing shows it. Applied when it is complete. */
function TraceIdInput({ value, onChange }: { value: string | null; onChange(id: string | null): void }) {
  const [text, setText] = useDraft(value ?? '')
  const id = text.trim().toLowerCase()
  const apply = (): void => {
    if (id === '' ? value !== null : isTraceId(id) && id !== value) onChange(id === '' ? null : id)
  }
  return (
    <TextInput
      label="Trace ID"
      placeholder="32 hexadecimal digits"
      value={text}
      error={id !== '' && id.length >= 32 && !isTraceId(id) ? 'Enter 32 hexadecimal digits.' : null}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={apply}
      onKeyDown={(event) => {
        if (event.key === 'Enter') apply()
      }}
      w="100%"
      maw={{ base: '100%', sm: 300 }}
    />
  )
}

function TurnTable({ turns }: { turns: Turn[] }) {
  // Nine of ten bars differ visibly, whatever the slowest turn took.
  const latencies = turns.flatMap((turn) => latencyOf(turn) ?? []).toSorted((a, b) => a - b)
  const longestMs = Math.max(1, latencies[Math.ceil(latencies.length * 0.9) - 1] ?? 0)
  return (
    <ListTable minWidth={960} aria-label="Turns, newest first" highlightOnHover style={{ '--longest': longestMs } as CSSProperties}>
      <Table.Thead>
        <Table.Tr>
          {['Turn', 'Status', 'Agent', 'End user', 'Started'].map((name) => (
            <Table.Th key={name} scope="col">
              {name}
            </Table.Th>
          ))}
          <Table.Th scope="col" ta="right">
            Tokens
          </Table.Th>
          <Table.Th scope="col">Latency</Table.Th>
          <Table.Th scope="col" ta="right">
            Charge
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {turns.map((turn) => (
          <TurnRow key={turn.request_id} turn={turn} />
        ))}
      </Table.Tbody>
    </ListTable>
  )
}

// Memoized, so that another page renders its own rows only.
const TurnRow = memo(function Row({ turn }: { turn: Turn }) {
  const { request_id: requestId, failure, usage, status } = turn
  const took = latencyOf(turn)
  return (
    <Table.Tr>
      <TraceCell requestId={requestId} />
      <Table.Td maw={280}>
        <Group gap={8} wrap="nowrap">
          <StateBadge state={status} />
          <ReplyEndBadge of={turn} />
          {failure && status !== 'cancelled' ? (
            <Text span size="xs" c="red" ff="monospace" className="as-name">
              {failure.cause_kind ?? failure.code}
            </Text>
          ) : null}
        </Group>
      </Table.Td>
      <AgentCell agentId={turn.agent_id} />
      <EndUserCell of={turn} />
      <Table.Td>
        <Moment at={turn.started_at} />
      </Table.Td>
      <Table.Td ta="right" className="figures">
        {usage === null ? '–' : writeCount(usage.total_tokens)}
      </Table.Td>
      <Table.Td className="figures">
        {took === null ? (
          '–'
        ) : (
          <span className={classes['latency']}>
            <span>{writeMs(took)}</span>
            <span className={classes['meter']} aria-hidden="true">
              <span
                data-failed={failure && status !== 'cancelled' ? '' : undefined}
                style={{ width: `min(100%, ${took} / var(--longest) * 100%)` }}
              />
            </span>
          </span>
        )}
      </Table.Td>
      <Table.Td ta="right">{usage === null ? '–' : <Money amount={usage.charged_usd} />}</Table.Td>
    </Table.Tr>
  )
})
