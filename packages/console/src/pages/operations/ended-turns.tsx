/** The newest turns that ended without a reply, with the kind of the cause and the details that only the operator sees. */
import { SegmentedControl, Stack, Table, Text } from '@mantine/core'
import { useState } from 'react'
import { useList } from '../../api/lists.ts'
import type { List } from '../../api/lists.ts'
import type { Turn } from '../../api/types.ts'
import { Moment } from '../../show/moment.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { StateBadge } from '../../show/state-badge.tsx'
import { mergeLists } from './merge-lists.ts'
import { Part } from './part.tsx'
import { seldomMs } from './polling.ts'
import { AgentCell, TurnCell } from '../../show/turn-cells.tsx'
import { ListTable } from '../../show/list-table.tsx'

const states = { errors: 'Errors', failed: 'Failed', released: 'Released', cancelled: 'Cancelled' } as const
type Ended = keyof typeof states
/** A short list; more are loaded on request. */
const shownFirst = 10

export function EndedTurns() {
  const [state, setState] = useState<Ended>('errors')
  return (
    <Part
      title="Turns without a reply"
      lead="Failed and released turns are errors: failed turns are final, released turns run again if the caller retries. Cancelled turns had no text yet. Nothing is charged, except that cancelled turns pay their finished tool calls that have a price."
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Turn state"
          value={state}
          onChange={(value) => setState(value as Ended)}
          data={Object.entries(states).map(([value, label]) => ({ value, label }))}
        />
      }
    >
      {state === 'errors' ? <Errors /> : <OneState key={state} state={state} />}
    </Part>
  )
}

const useEnded = (status: Turn['status']): List<Turn> =>
  useList<Turn>(['turns', status], '/turns', { status }, { limit: shownFirst, refetchMs: seldomMs })

function OneState({ state }: { state: Exclude<Ended, 'errors'> }) {
  return <EndedList list={useEnded(state)} name={states[state]} />
}

/** Two lists of the server as one, so that neither kind of error hides the other. */
function Errors() {
  return <EndedList list={mergeLists(useEnded('failed'), useEnded('released'))} name="Failed or released" />
}

function EndedList({ list, name }: { list: List<Turn>; name: string }) {
  const what = `${name.toLowerCase()} turns`
  return (
    <Waiting for={list.query} what={what}>
      {() =>
        list.items.length === 0 ? (
          <Text size="sm">No {what}.</Text>
        ) : (
          <Stack gap="xs">
            <ListTable minWidth={800} aria-label={`${name} turns, newest first`}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th scope="col">Turn</Table.Th>
                  <Table.Th scope="col">Status</Table.Th>
                  <Table.Th scope="col">Agent</Table.Th>
                  <Table.Th scope="col">Ended</Table.Th>
                  <Table.Th scope="col">Cause</Table.Th>
                  <Table.Th scope="col">Details</Table.Th>
                  <Table.Th scope="col">Attempts</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {list.items.map((turn) => (
                  <EndedRow key={turn.request_id} turn={turn} />
                ))}
              </Table.Tbody>
            </ListTable>
            <MoreButton list={list} />
          </Stack>
        )
      }
    </Waiting>
  )
}

function EndedRow({ turn }: { turn: Turn }) {
  return (
    <Table.Tr>
      <TurnCell turn={turn} />
      <Table.Td>
        <StateBadge state={turn.status} />
      </Table.Td>
      <AgentCell agentId={turn.agent_id} />
      <Table.Td>
        <Moment at={turn.ended_at} />
      </Table.Td>
      <Table.Td>
        <Text span size="xs" ff="monospace" {...(turn.status === 'cancelled' ? {} : { c: 'red' })}>
          {turn.failure?.cause_kind ?? turn.failure?.code ?? '–'}
        </Text>
      </Table.Td>
      <Table.Td maw={360}>
        <Text size="sm" className="as-written">
          {turn.failure?.cause ?? '–'}
        </Text>
      </Table.Td>
      <Table.Td>{turn.attempts}</Table.Td>
    </Table.Tr>
  )
}
