/** One owner: its balance and how long it lasts, its agents, limits and end users, its entries and charges. */
import { Anchor, Button, Stack } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { call, segment } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import type { OwnerWithHolds, Usage } from '../../api/types.ts'
import { Figure, Figures } from '../../show/figure.tsx'
import { IdText } from '../../show/id-text.tsx'
import { Money } from '../../show/money.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { readAmount } from '../../api/amounts.ts'
import { Ledger } from './ledger.tsx'
import { daysLeftOf, formatDays, lowOf } from '../../api/low.ts'
import { spanOf } from '../../show/usage-range.ts'
import { BalanceChart } from './balance-chart.tsx'
import { EditOwner } from './edit-owner.tsx'
import { EndUserSpend } from './end-user-spend.tsx'
import { OwnerLimits } from './owner-limits.tsx'
import { LowBalance } from './low-balance.tsx'
import { NewEntry } from './new-entry.tsx'
import { OwnerAgents } from './owner-agents.tsx'
import { OwnerDocuments } from './owner-documents.tsx'
import { RunningTurns } from './running-turns.tsx'
import { useSpent } from '../../api/spend.ts'
import { Allowed } from '../../show/allowed.tsx'

/** Balances change with every turn. Polled slower than a person would look twice. */
const refetchMs = 15_000

export function OwnerPage({ ownerId }: { ownerId: string }) {
  const owner = useQuery({
    queryKey: ['owners', ownerId],
    queryFn: ({ signal }) => call<OwnerWithHolds>(`/owners/${segment(ownerId)}`, { signal }),
    refetchInterval: refetchMs,
  })
  const [editing, { open, close }] = useDisclosure()
  return (
    <Page
      title={owner.data?.name ?? 'Owner'}
      trail={[{ href: '/money', label: 'Owners' }]}
      lead={<IdText id={ownerId} />}
      actions={
        owner.data ? (
          <Allowed permission="billing" installation>
            <Button variant="default" onClick={open}>
              Edit owner
            </Button>
          </Allowed>
        ) : null
      }
    >
      <Waiting for={owner} what="the owner">
        {(found) => (
          <>
            <OwnerMoney owner={found} />
            <RunningTurns turns={found.running_turns} />
            <div className="two-columns">
              <Stack gap="lg">
                <OwnerAgents ownerId={ownerId} />
                <OwnerLimits ownerId={ownerId} />
                <OwnerDocuments indexing={found.indexing} />
              </Stack>
              <EndUserSpend ownerId={ownerId} />
            </div>
            <Ledger owner={found} />
            <EditOwner owner={found} opened={editing} onClose={close} />
          </>
        )}
      </Waiting>
    </Page>
  )
}

function OwnerMoney({ owner }: { owner: OwnerWithHolds }) {
  const report = useSpent(owner.id)
  const spent = report.data === undefined ? undefined : readAmount(report.data)
  const available = readAmount(owner.available_usd) ?? 0n
  const daysLeft = daysLeftOf(available, spent)
  const mayBill = useMay('billing', true)
  return (
    <>
      <LowBalance low={lowOf(available, spent)} />
      <Figures>
        <Figure label="Balance" note="sum of the ledger">
          <Money amount={owner.balance_usd} />
        </Figure>
        {owner.low_balance_usd === null ? null : (
          <Figure label="Low balance" note="below it, the balance is reported as low">
            <Money amount={owner.low_balance_usd} />
          </Figure>
        )}
        <Figure label="Held" note="for running turns">
          <Money amount={owner.held_usd} />
        </Figure>
        <Figure label="Available" note="balance minus held and unpaid">
          <Money amount={owner.available_usd} />
        </Figure>
        {/[1-9]/.test(owner.unpaid_usd) ? (
          <Figure label="Unpaid" note="used by turns without a reply; credits clear it">
            <Money amount={owner.unpaid_usd} />
          </Figure>
        ) : null}
        <Figure
          label="Lasts"
          note={daysLeft === null && spent !== undefined ? 'no spend in the last 7 days' : 'at the spend of the last 7 days'}
        >
          {spent === undefined ? (report.error ? 'Unknown' : '…') : daysLeft === null ? '–' : formatDays(daysLeft)}
        </Figure>
        <SpendFigure ownerId={owner.id} range="month" label="Spend this month (UTC)" />
        <SpendFigure ownerId={owner.id} range="last-month" label="Spend last month (UTC)" />
      </Figures>
      <div className={mayBill ? 'two-columns' : undefined}>
        <BalanceChart owner={owner} spent={spent} />
        {mayBill ? <NewEntry owner={owner} /> : null}
      </div>
    </>
  )
}

function SpendFigure({ ownerId, range, label }: { ownerId: string; range: 'month' | 'last-month'; label: string }) {
  const span = spanOf({ range, from: '', to: '' }, Date.now())
  const query = { ...span, owner_id: ownerId }
  const usage = useQuery({ queryKey: ['usage', query], queryFn: ({ signal }) => call<Usage>('/usage', { query, signal }) })
  return (
    <Figure
      label={label}
      note={
        <Anchor component={Link} href={`/usage?range=${range}&owner_id=${segment(ownerId)}`} inherit aria-label={`View usage: ${label}`}>
          View usage
        </Anchor>
      }
    >
      {usage.data ? <Money amount={usage.data.totals.charged_usd} /> : usage.error ? 'Unknown' : '…'}
    </Figure>
  )
}
