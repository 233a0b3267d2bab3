/** An owner's ledger, newest first: credits and adjustments by the operator, one charge for each completed turn. */
import { Box, Group, Stack, Table, Text, Title } from '@mantine/core'
import { segment } from '../../api/client.ts'
import { useList } from '../../api/lists.ts'
import type { LedgerEntry, Owner } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { Moment } from '../../show/moment.tsx'
import { Money } from '../../show/money.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { LedgerCsv } from './ledger-csv.tsx'
import { TurnLink } from './turn-link.tsx'
import { ListTable } from '../../show/list-table.tsx'

const kindWords: Record<LedgerEntry['kind'], string> = { credit: 'Credit', adjustment: 'Adjustment', charge: 'Charge' }
const nothing = '0.00000000'

export function Ledger({ owner }: { owner: Owner }) {
  const list = useList<LedgerEntry>(['ledger', owner.id], `/owners/${segment(owner.id)}/ledger`)
  return (
    <Box component="section" aria-labelledby="ledger">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4" id="ledger">
          Ledger
        </Title>
        <LedgerCsv owner={owner} />
      </Group>
      <Waiting for={list.query} what="the ledger">
        {() =>
          list.items.length === 0 ? (
            <Empty title="No ledger entries yet">Add credit above. Agents reply only while their owner has an available balance.</Empty>
          ) : (
            <Stack gap="xs">
              <ListTable minWidth={760} aria-label="Ledger, newest first">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th scope="col">Time</Table.Th>
                    <Table.Th scope="col">Kind</Table.Th>
                    <Table.Th scope="col" ta="right">
                      Amount
                    </Table.Th>
                    <Table.Th scope="col" ta="right">
                      Written off
                    </Table.Th>
                    <Table.Th scope="col">Note</Table.Th>
                    <Table.Th scope="col">Turn</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {list.items.map((entry) => (
                    <EntryRow key={entry.id} entry={entry} />
                  ))}
                </Table.Tbody>
              </ListTable>
              <MoreButton list={list} />
            </Stack>
          )
        }
      </Waiting>
    </Box>
  )
}

function EntryRow({ entry }: { entry: LedgerEntry }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Moment at={entry.created_at} />
      </Table.Td>
      <Table.Td>{kindWords[entry.kind]}</Table.Td>
      <Table.Td ta="right">
        <Money amount={entry.amount_usd} />
      </Table.Td>
      <Table.Td ta="right">{entry.written_off_usd === nothing ? '–' : <Money amount={entry.written_off_usd} />}</Table.Td>
      <Table.Td maw={280}>
        <Text size="sm" className="as-written">
          {entry.note ?? '–'}
        </Text>
      </Table.Td>
      <Table.Td>{entry.request_id ? <TurnLink requestId={entry.request_id} /> : '–'}</Table.Td>
    </Table.Tr>
  )
}
