/** The turns that are running on all processes, each with whose it is and a button that cancels it. */
import { Stack, Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useList } from '../api/lists.ts'
import { useCancel } from '../api/turns.ts'
import type { Turn } from '../api/types.ts'
import { FailureNote } from './failure-note.tsx'
import { writeSpan } from './measures.ts'
import { Money } from './money.tsx'
import { MoreButton } from './more-button.tsx'
import { CancelButton, CancelOutcome } from './cancel-turn.tsx'
import { AgentCell, EndUserCell, TurnCell } from './turn-cells.tsx'
import { Waiting } from './waiting.tsx'
import { ListTable } from './list-table.tsx'

// Fast enough to watch a turn, slow enough that ten open pages cause little load.
const refetchMs = 5_000

/** `heading` is shown above running turns and what a cancel did, `none` if no turn is running. */
export function RunningTurns({ agentId, heading, none }: { agentId?: string; heading?: ReactNode; none?: ReactNode }) {
  const list = useList<Turn>(['turns', 'running'], '/turns', { status: 'running', agent_id: agentId }, { refetchMs })
  const cancel = useCancel()
  const isShown = list.items.length > 0 || cancel.data !== undefined || cancel.error !== null
  if (heading && (list.query.isPending || (list.query.isSuccess && !isShown))) return null
  return (
    <Waiting for={list.query} what="running turns">
      {() => (
        <Stack gap="xs">
          {isShown ? heading : null}
          <FailureNote error={list.query.isRefetchError ? list.query.error : null} title="Could not refresh running turns" />
          <CancelOutcome cancel={cancel} />
          {list.items.length === 0 ? none : <RunningTable turns={list.items} now={list.query.dataUpdatedAt} cancel={cancel} />}
          <MoreButton list={list} />
        </Stack>
      )}
    </Waiting>
  )
}

function RunningTable({ turns, now, cancel }: { turns: Turn[]; now: number; cancel: ReturnType<typeof useCancel> }) {
  return (
    <ListTable minWidth={760} aria-label="Running turns">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Turn</Table.Th>
          <Table.Th scope="col">Actions</Table.Th>
          <Table.Th scope="col">Agent</Table.Th>
          <Table.Th scope="col">End user</Table.Th>
          <Table.Th scope="col">Age</Table.Th>
          <Table.Th scope="col" ta="right">
            Held
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {turns.map((turn) => (
          <Table.Tr key={turn.request_id}>
            <TurnCell turn={turn} />
            <Table.Td>
              {turn.cancel_requested_at === null ? (
                <CancelButton requestId={turn.request_id} cancel={cancel} />
              ) : (
                <Text size="sm">Cancelling…</Text>
              )}
            </Table.Td>
            <AgentCell agentId={turn.agent_id} />
            <EndUserCell of={turn} />
            <Table.Td>
              <span className="figures">{writeSpan(now - Date.parse(turn.started_at))}</span>
              {turn.attempts > 1 ? (
                <Text size="xs" c="dimmed">
                  recovered, attempt {turn.attempts}
                </Text>
              ) : null}
            </Table.Td>
            <Table.Td ta="right">
              <Money amount={turn.held_usd} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}
