/** All turns, newest first, by agent and state. Each leads to its trace. The filters are in the address. */
import { Anchor, Group, Select, Stack, Table, Text } from '@mantine/core'
import { Link, useSearchParams } from 'wouter'
import { segment } from '../../api/client.ts'
import { useList } from '../../api/lists.ts'
import type { Turn } from '../../api/types.ts'
import { AgentSelect } from '../../show/agent-select.tsx'
import { Empty } from '../../show/empty.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { writeMs } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Money } from '../../show/money.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Page } from '../../show/page.tsx'
import { StateBadge } from '../../show/state-badge.tsx'
import { AgentCell, endOfId } from '../../show/turn-cells.tsx'
import { Waiting } from '../../show/waiting.tsx'

const states = [
  { value: 'running', label: 'Running' },
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
  { value: 'released', label: 'Released' },
  { value: 'cancelled', label: 'Cancelled' },
]

export function Traces() {
  const [params, setParams] = useSearchParams()
  const filters = { agent_id: params.get('agent_id'), status: states.find(({ value }) => value === params.get('status'))?.value ?? null }
  const change = (changed: Partial<typeof filters>): void =>
    setParams(Object.entries({ ...filters, ...changed }).filter((entry): entry is [string, string] => entry[1] !== null))
  const list = useList<Turn>(['turns', 'all'], '/turns', filters)
  return (
    <Page title="Traces" lead="Every turn with what the agent was sent, what it did, and what it cost.">
      <Group align="flex-end" gap="sm" component="search" aria-label="Traces">
        <AgentSelect value={filters.agent_id} onChange={(id) => change({ agent_id: id })} clearable />
        <Select
          label="State"
          placeholder="All states"
          data={states}
          value={filters.status}
          onChange={(status) => change({ status })}
          clearable
          clearButtonProps={{ 'aria-label': 'Clear state', 'aria-hidden': false, tabIndex: 0 }}
          w="100%"
          maw={200}
        />
      </Group>
      <Waiting for={list.query} what="turns">
        {() =>
          list.items.length === 0 ? (
            <Empty title="No turns">A turn starts with a message to an agent, from your program or from the playground.</Empty>
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

function TurnTable({ turns }: { turns: Turn[] }) {
  return (
    <ListTable minWidth={820} aria-label="Turns, newest first" highlightOnHover>
      <Table.Thead>
        <Table.Tr>
          {['Turn', 'State', 'Agent', 'Started', 'Cause'].map((name) => (
            <Table.Th key={name} scope="col">
              {name}
            </Table.Th>
          ))}
          <Table.Th scope="col" ta="right">
            Latency
          </Table.Th>
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

function TurnRow({ turn }: { turn: Turn }) {
  const { request_id: requestId, failure, usage, started_at: startedAt, ended_at: endedAt } = turn
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={500}>
        <Anchor
          component={Link}
          href={`/turns/${segment(requestId)}`}
          size="xs"
          ff="monospace"
          title={requestId}
          aria-label={`Open trace of request ${requestId}`}
        >
          <span aria-hidden="true">…</span>
          {endOfId(requestId)}
        </Anchor>
      </Table.Th>
      <Table.Td>
        <StateBadge state={turn.state} />
      </Table.Td>
      <AgentCell agentId={turn.agent_id} />
      <Table.Td>
        <Moment at={turn.started_at} />
      </Table.Td>
      <Table.Td maw={320}>
        <Text size="xs" {...(failure ? { c: 'red', className: 'as-written' } : { c: 'dimmed' })} lineClamp={2}>
          {failure ? (failure.cause_kind ?? failure.code) : '–'}
        </Text>
      </Table.Td>
      <Table.Td ta="right" className="figures">
        {endedAt === null ? '–' : writeMs(Date.parse(endedAt) - Date.parse(startedAt))}
      </Table.Td>
      <Table.Td ta="right">{usage === null ? '–' : <Money amount={usage.charged_usd} />}</Table.Td>
    </Table.Tr>
  )
}
