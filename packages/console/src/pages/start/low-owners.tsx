/** Owners whose agents will soon refuse messages, lowest balance first. */
import { Anchor, Box, Table, Text, Title } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useOwners } from '../../api/lists.ts'
import type { Owner } from '../../api/types.ts'
import { Money } from '../../show/money.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { readAmount } from '../../api/amounts.ts'
import { lowOf, formatLow } from '../../api/low.ts'
import { useSpentOfLow } from '../../api/spend.ts'
import { ListTable } from '../../show/list-table.tsx'

export function LowOwners() {
  const owners = useOwners()
  return (
    <Box component="section" aria-labelledby="low-owners">
      <Title order={2} size="h4" mb="sm" id="low-owners">
        Low balances
      </Title>
      <Waiting for={owners} what="balances">
        {(found) => <LowOnes owners={found} />}
      </Waiting>
    </Box>
  )
}

function LowOnes({ owners }: { owners: Owner[] }) {
  const spent = useSpentOfLow(owners)
  const low = owners
    .map((owner) => ({ owner, available: readAmount(owner.available_usd) ?? 0n }))
    .flatMap(({ owner, available }) => {
      const reason = lowOf(available, spent.get(owner.id))
      return reason ? [{ owner, available, reason }] : []
    })
    .toSorted((one, other) => (one.available < other.available ? -1 : 1))
  if (low.length === 0)
    return <Text size="sm">No low balances. Every owner has at least $1.00 and three days of recent spend available.</Text>
  return (
    <ListTable minWidth={520} aria-label="Owners with a low balance">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Owner</Table.Th>
          <Table.Th scope="col">Available</Table.Th>
          <Table.Th scope="col">Status</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {low.map(({ owner, reason }) => (
          <Table.Tr key={owner.id}>
            <Table.Td>
              <Anchor component={Link} href={`/money/${segment(owner.id)}`} underline="always" inherit>
                {owner.name}
              </Anchor>
            </Table.Td>
            <Table.Td>
              <Money amount={owner.available_usd} />
            </Table.Td>
            <Table.Td>{formatLow(reason)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}
