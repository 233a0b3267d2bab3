/** The running turns that hold parts of an owner's balance, newest first. Nothing is shown if there are none. */
import { Box, Table, Title } from '@mantine/core'
import type { OwnerWithHolds } from '../../api/types.ts'
import { Moment } from '../../show/moment.tsx'
import { Money } from '../../show/money.tsx'
import { TurnLink } from './turn-link.tsx'
import { ListTable } from '../../show/list-table.tsx'

export function RunningTurns({ turns }: { turns: OwnerWithHolds['running_turns'] }) {
  if (turns.length === 0) return null
  return (
    <Box component="section" aria-labelledby="running-turns">
      <Title order={2} size="h4" mb="xs" id="running-turns">
        Running turns
      </Title>
      <ListTable minWidth={480} aria-label="Running turns of this owner">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Started</Table.Th>
            <Table.Th scope="col">User</Table.Th>
            <Table.Th scope="col">Turn</Table.Th>
            <Table.Th scope="col" ta="right">
              Held
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {turns.map((turn) => (
            <Table.Tr key={turn.request_id}>
              <Table.Td>
                <Moment at={turn.started_at} />
              </Table.Td>
              <Table.Td className="as-written">{turn.external_user_id ?? 'Erased'}</Table.Td>
              <Table.Td>
                <TurnLink requestId={turn.request_id} />
              </Table.Td>
              <Table.Td ta="right">
                <Money amount={turn.held_usd} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ListTable>
    </Box>
  )
}
