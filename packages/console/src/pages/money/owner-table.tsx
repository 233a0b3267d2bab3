/** The table of owners, with a search if there are many. */
import { Alert, Anchor, Stack, Table, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import type { Owner } from '../../api/types.ts'
import { Moment } from '../../show/moment.tsx'
import { Money } from '../../show/money.tsx'
import { readAmount } from '../../api/amounts.ts'
import { lowOf, formatLow } from '../../api/low.ts'
import type { Low } from '../../api/low.ts'
import { useSpentOfLow } from '../../api/spend.ts'
import { ListTable } from '../../show/list-table.tsx'

/** More than fit on a screen, so a search is shown. */
const searchedFrom = 12
const maxShown = 100

export function OwnerTable({ owners }: { owners: Owner[] }) {
  const [sought, setSought] = useState('')
  const spent = useSpentOfLow(owners)
  const lowById = new Map<string, Low>()
  for (const { id, available_usd: available } of owners) {
    const low = lowOf(readAmount(available) ?? 0n, spent.get(id))
    if (low) lowById.set(id, low)
  }
  const found = owners.filter(({ name }) => name.toLowerCase().includes(sought.trim().toLowerCase()))
  // Owners with a low balance come first, so that they are seen among a hundred others. The rest is newest first.
  const shown = found.toSorted((a, b) => Number(lowById.has(b.id)) - Number(lowById.has(a.id))).slice(0, maxShown)
  return (
    <Stack>
      {lowById.size > 0 ? (
        <Alert
          color="yellow"
          variant="outline"
          role="note"
          title={lowById.size === 1 ? '1 owner has a low balance' : `${lowById.size} owners have a low balance`}
        >
          <Text size="sm">
            A balance is low if less than $1.00, or less than three days of spend at the pace of the last 7 days, is available. Open an
            owner to add credit.
          </Text>
        </Alert>
      ) : null}
      {owners.length >= searchedFrom ? (
        <TextInput label="Search owners" value={sought} onChange={(event) => setSought(event.currentTarget.value)} maw={320} />
      ) : null}
      <ListTable minWidth={720} aria-label="Owners" highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Owner</Table.Th>
            <Table.Th scope="col" ta="right">
              Balance
            </Table.Th>
            <Table.Th scope="col" ta="right">
              Held
            </Table.Th>
            <Table.Th scope="col" ta="right">
              Unpaid
            </Table.Th>
            <Table.Th scope="col" ta="right">
              Available
            </Table.Th>
            <Table.Th scope="col">Status</Table.Th>
            <Table.Th scope="col">Created</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {shown.map((owner) => (
            <OwnerRow key={owner.id} owner={owner} low={lowById.get(owner.id)} />
          ))}
        </Table.Tbody>
      </ListTable>
      <Text size="sm" c="dimmed" aria-live="polite">
        {found.length === 0 ? 'No matching owners.' : null}
        {found.length > maxShown ? `Showing ${maxShown} of ${found.length} owners. Enter more of the name to narrow the list.` : null}
      </Text>
    </Stack>
  )
}

function OwnerRow({ owner, low }: { owner: Owner; low: Low | undefined }) {
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={500} maw={320}>
        <Anchor component={Link} inherit href={`/money/${segment(owner.id)}`} className="as-written">
          {owner.name}
        </Anchor>
      </Table.Th>
      <Table.Td ta="right">
        <Money amount={owner.balance_usd} />
      </Table.Td>
      <Table.Td ta="right">
        <Money amount={owner.held_usd} />
      </Table.Td>
      <Table.Td ta="right">
        <Money amount={owner.unpaid_usd} />
      </Table.Td>
      <Table.Td ta="right">
        <Money amount={owner.available_usd} />
      </Table.Td>
      <Table.Td>{low ? <Text size="sm" fw={600}>{`⚠ ${formatLow(low)}`}</Text> : 'OK'}</Table.Td>
      <Table.Td>
        <Moment at={owner.created_at} />
      </Table.Td>
    </Table.Tr>
  )
}
