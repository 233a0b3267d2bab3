/** How much of each limit's current window is used. */
import { Progress, Table, Text } from '@mantine/core'
import type { Spending } from '../../../api/types.ts'
import { ListTable } from '../../../show/list-table.tsx'
import { Moment } from '../../../show/moment.tsx'
import { Money } from '../../../show/money.tsx'
import { labelOf, scopes, windows } from './limit-names.ts'
import { usedPercent } from './used-percent.ts'

export function SpendingTable({ rows }: { rows: Spending[] }) {
  return (
    <ListTable minWidth={700} aria-label="Spent in the current windows">
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
    </ListTable>
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
