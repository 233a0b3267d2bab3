/** The table of owners, with a search if there are many. */
import { Alert, Anchor, Stack, Table, Text, TextInput } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import type { Owner } from '../../api/types.ts'
import { Money } from '../../show/money.tsx'
import { readAmount, writeAmount } from '../../api/amounts.ts'
import { daysLeftOf, formatDays, formatLow, lowOf } from '../../api/low.ts'
import type { Low } from '../../api/low.ts'
import { useSpentByOwner } from '../../api/spend.ts'
import { ListTable } from '../../show/list-table.tsx'

/** More than fit on a screen, so a search is shown. */
const searchedFrom = 12
const maxShown = 100

export function OwnerTable({ owners }: { owners: Owner[] }) {
  const [sought, setSought] = useState('')
  const report = useSpentByOwner()
  // An owner without a turn is not in the report.
  const spentBy = ({ id }: Owner): bigint | undefined => (report.data === undefined ? undefined : (report.data.get(id) ?? 0n))
  const lowById = new Map<string, Low>()
  for (const owner of owners) {
    const low = lowOf(readAmount(owner.available_usd) ?? 0n, spentBy(owner))
    if (low) lowById.set(owner.id, low)
  }
  const found = owners.filter(({ name }) => name.toLowerCase().includes(sought.trim().toLowerCase()))
  // Owners with a low balance come first, so that they are seen among a hundred others. The rest is newest first.
  const shown = found.toSorted((a, b) => Number(lowById.has(b.id)) - Number(lowById.has(a.id))).slice(0, maxShown)
  return (
    <Stack>
      {lowById.size > 0 ? (
        <Alert
          color="yellow"
          variant="light"
          role="note"
          icon={<IconAlertTriangle aria-hidden />}
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
              Held or unpaid
            </Table.Th>
            <Table.Th scope="col" ta="right">
              Available
            </Table.Th>
            <Table.Th scope="col" ta="right">
              Spend, 7 UTC days
            </Table.Th>
            <Table.Th scope="col">Lasts</Table.Th>
            <Table.Th scope="col">Status</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {shown.map((owner) => (
            <OwnerRow key={owner.id} owner={owner} low={lowById.get(owner.id)} spent={spentBy(owner)} />
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

function OwnerRow({ owner, low, spent }: { owner: Owner; low: Low | undefined; spent: bigint | undefined }) {
  const daysLeft = daysLeftOf(readAmount(owner.available_usd) ?? 0n, spent)
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
        {/* What lies between the balance and what is available. */}
        <Money amount={writeAmount((readAmount(owner.held_usd) ?? 0n) + (readAmount(owner.unpaid_usd) ?? 0n))} />
      </Table.Td>
      <Table.Td ta="right">
        <Money amount={owner.available_usd} />
      </Table.Td>
      <Table.Td ta="right">{spent === undefined ? '…' : <Money amount={writeAmount(spent)} />}</Table.Td>
      <Table.Td>{daysLeft === null ? '–' : formatDays(daysLeft)}</Table.Td>
      <Table.Td>
        {low ? (
          <Text span size="sm" fw={500} c={low.reason === 'empty' ? 'var(--tk-bad)' : 'var(--tk-warn)'}>
            <IconAlertTriangle size={14} aria-hidden style={{ verticalAlign: '-2px' }} /> {formatLow(low)}
          </Text>
        ) : (
          'OK'
        )}
      </Table.Td>
    </Table.Tr>
  )
}
