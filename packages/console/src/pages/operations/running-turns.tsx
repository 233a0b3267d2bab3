/** The turns that are running on all processes. An attempt above 1 means that a turn was recovered. */
import { Stack, Table, Text } from '@mantine/core'
import { useList } from '../../api/lists.ts'
import type { Turn } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { writeSpan } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Money } from '../../show/money.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { Part } from './part.tsx'
import { oftenMs } from './polling.ts'
import { AgentCell, TurnCell } from './turn-cells.tsx'

export function RunningTurns() {
  const list = useList<Turn>(['turns', 'running'], '/turns', { status: 'running' }, { refetchMs: oftenMs })
  return (
    <Part title="Running turns" lead="All processes, newest first. If a process stops, its turns are recovered when their leases expire.">
      <Waiting for={list.query} what="running turns">
        {() => (
          <Stack gap="xs">
            <FailureNote error={list.query.isRefetchError ? list.query.error : null} title="Could not refresh running turns" />
            {list.items.length === 0 ? (
              <Text size="sm">No running turns.</Text>
            ) : (
              <RunningTable turns={list.items} now={list.query.dataUpdatedAt} />
            )}
            <MoreButton list={list} />
          </Stack>
        )}
      </Waiting>
    </Part>
  )
}

function RunningTable({ turns, now }: { turns: Turn[]; now: number }) {
  return (
    <Table.ScrollContainer minWidth={720}>
      <Table aria-label="Running turns">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Turn</Table.Th>
            <Table.Th scope="col">Agent</Table.Th>
            <Table.Th scope="col">Started</Table.Th>
            <Table.Th scope="col">Age</Table.Th>
            <Table.Th scope="col">Attempt</Table.Th>
            <Table.Th scope="col" ta="right">
              Held
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {turns.map((turn) => (
            <Table.Tr key={turn.request_id}>
              <TurnCell turn={turn} />
              <AgentCell agentId={turn.agent_id} />
              <Table.Td>
                <Moment at={turn.started_at} />
              </Table.Td>
              <Table.Td className="figures">{writeSpan(now - Date.parse(turn.started_at))}</Table.Td>
              <Table.Td>
                {turn.attempts > 1 ? `${turn.attempts} (recovered)` : '1'}
                {turn.run > 1 ? ` (run ${turn.run})` : ''}
              </Table.Td>
              <Table.Td ta="right">
                <Money amount={turn.held_usd} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
