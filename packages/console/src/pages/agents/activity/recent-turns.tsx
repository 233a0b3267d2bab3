/** The newest turns of an agent. Each leads to its trace. */
import { Group, Table, Text } from '@mantine/core'
import { useList } from '../../../api/lists.ts'
import type { Turn } from '../../../api/types.ts'
import { ListTable } from '../../../show/list-table.tsx'
import { latencyOf, writeMs } from '../../../show/measures.ts'
import { Moment } from '../../../show/moment.tsx'
import { Money } from '../../../show/money.tsx'
import { ReplyEndBadge, StateBadge } from '../../../show/state-badge.tsx'
import { TraceCell } from '../../../show/turn-cells.tsx'
import { Waiting } from '../../../show/waiting.tsx'

const refetchMs = 10_000

export function RecentTurns({ agentId }: { agentId: string }) {
  const list = useList<Turn>(['turns', 'recent'], '/turns', { agent_id: agentId }, { limit: 8, refetchMs })
  return (
    <Waiting for={list.query} what="turns">
      {() =>
        list.items.length === 0 ? (
          <Text size="sm" c="dimmed">
            No turns yet.
          </Text>
        ) : (
          <ListTable minWidth={640} aria-label="Recent turns, newest first" highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                {['Turn', 'Status', 'Started', 'Cause'].map((name) => (
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
              {list.items.map((turn) => (
                <Row key={turn.request_id} turn={turn} />
              ))}
            </Table.Tbody>
          </ListTable>
        )
      }
    </Waiting>
  )
}

function Row({ turn }: { turn: Turn }) {
  const { status, failure, usage } = turn
  const latencyMs = latencyOf(turn)
  const cause = failure && status !== 'cancelled' ? failure : null
  return (
    <Table.Tr>
      <TraceCell requestId={turn.request_id} />
      <Table.Td>
        <Group gap={4} wrap="nowrap">
          <StateBadge state={status} />
          <ReplyEndBadge of={turn} />
        </Group>
      </Table.Td>
      <Table.Td>
        <Moment at={turn.started_at} />
      </Table.Td>
      <Table.Td maw={320}>
        <Text size="xs" {...(cause ? { c: 'red' } : { c: 'dimmed' })} lineClamp={2}>
          {cause ? (cause.cause_kind ?? cause.code).replaceAll('_', ' ') : '–'}
        </Text>
      </Table.Td>
      <Table.Td ta="right" className="figures">
        {latencyMs === null ? '–' : writeMs(latencyMs)}
      </Table.Td>
      <Table.Td ta="right">{usage === null ? '–' : <Money amount={usage.charged_usd} />}</Table.Td>
    </Table.Tr>
  )
}
