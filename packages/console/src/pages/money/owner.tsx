/** One owner: its balance, its agents, its entries and charges. */
import { Anchor, Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { call, segment } from '../../api/client.ts'
import type { OwnerWithHolds } from '../../api/types.ts'
import { Figure, Figures } from '../../show/figure.tsx'
import { IdText } from '../../show/id-text.tsx'
import { Money } from '../../show/money.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { readAmount } from '../../api/amounts.ts'
import { Ledger } from './ledger.tsx'
import { lowOf } from '../../api/low.ts'
import { LowBalance } from './low-balance.tsx'
import { NewEntry } from './new-entry.tsx'
import { OwnerAgents } from './owner-agents.tsx'
import { RunningTurns } from './running-turns.tsx'
import { RenameOwner } from './rename-owner.tsx'
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
  const [renaming, { open, close }] = useDisclosure()
  return (
    <Page
      title={owner.data?.name ?? 'Owner'}
      trail={[{ href: '/money', label: 'Owners' }]}
      lead={<IdText id={ownerId} />}
      actions={
        owner.data ? (
          <Allowed permission="billing" installation>
            <Button variant="default" onClick={open}>
              Rename owner
            </Button>
          </Allowed>
        ) : null
      }
    >
      <Waiting for={owner} what="the owner">
        {(found) => (
          <>
            <OwnerFigures owner={found} />
            <RunningTurns turns={found.running_turns} />
            <Allowed permission="billing" installation>
              <NewEntry owner={found} />
            </Allowed>
            <OwnerAgents ownerId={ownerId} />
            <Ledger owner={found} />
            <RenameOwner owner={found} opened={renaming} onClose={close} />
          </>
        )}
      </Waiting>
    </Page>
  )
}

function OwnerFigures({ owner }: { owner: OwnerWithHolds }) {
  const spent = useSpent(owner.id)
  const low = lowOf(readAmount(owner.available_usd) ?? 0n, spent.data === undefined ? undefined : readAmount(spent.data))
  return (
    <>
      <LowBalance low={low} />
      <Figures>
        <Figure label="Balance" note="sum of the ledger">
          <Money amount={owner.balance_usd} />
        </Figure>
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
          label="Spend in the last 7 days"
          note={
            <Anchor component={Link} href={`/usage?owner_id=${segment(owner.id)}&range=7d`} inherit>
              View usage
            </Anchor>
          }
        >
          {spent.data !== undefined ? (
            <Money amount={spent.data} />
          ) : (
            <Text span inherit>
              {spent.error ? 'Unknown' : '…'}
            </Text>
          )}
        </Figure>
      </Figures>
    </>
  )
}
