/** What needs attention as one list: what is broken first, and within that what happened last. Pure. */
import { readAmount } from '../../api/amounts.ts'
import { formatLow, lowOf } from '../../api/low.ts'
import type { Agent, Attention, Owner, Status } from '../../api/types.ts'
import { shortMoney } from '../../show/short-money.ts'
import { writeCount } from '../../show/measures.ts'
import { labelOf, scopes } from '../../show/limits/limit-names.ts'
import { usedPercent } from '../../show/limits/used-percent.ts'
import type { FailingProvider } from '../providers/health.ts'

export type AttentionItem = {
  key: string
  kind: 'provider' | 'balance' | 'limit' | 'webhook' | 'document' | 'service'
  /** `broken`: something is refused or does not work now. `soon`: it will. */
  level: 'broken' | 'soon'
  title: string
  detail: string
  /** ISO times; null if not known. */
  since: string | null
  until?: string | null
  action: { label: string; href: string }
}

export type AttentionSources = {
  attention: Attention[]
  providers: FailingProvider[]
  owners: Owner[]
  /** Of seven days, by owner ID. */
  spent: Map<string, bigint>
  agents: Agent[]
  status: Status | undefined
  /** What the operator may do, which decides about the action. */
  may: { billing: boolean; installation: boolean; conversations: boolean }
}

export function attentionItems({ attention, providers, owners, spent, agents, status, may }: AttentionSources): AttentionItem[] {
  const nameOf = (agentId: string): string => agents.find(({ id }) => id === agentId)?.name ?? 'a deleted agent'
  const items = [
    ...statusItems(status),
    ...providers.map((one) => providerItem(one, may)),
    ...owners.flatMap((owner) => balanceItem(owner, spent.get(owner.id), may.billing)),
    ...attention.map((one) => reportedItem(one, nameOf)),
  ]
  const rank = ({ level }: AttentionItem): number => (level === 'broken' ? 0 : 1)
  return items.toSorted((one, other) => rank(one) - rank(other) || (other.since ?? '').localeCompare(one.since ?? ''))
}

function statusItems(status: Status | undefined): AttentionItem[] {
  if (!status) return []
  const { store, limiter, draining } = status
  const action = { label: 'View status', href: '/operations' }
  const common = { kind: 'service' as const, level: 'broken' as const, since: null, action }
  const items: AttentionItem[] = []
  if (store.state !== 'ok') items.push({ ...common, key: 'store', title: 'The database is unavailable', detail: store.kind })
  if (limiter.state !== 'ok')
    items.push({
      ...common,
      key: 'limiter',
      title: 'The rate limiter is unavailable',
      detail: `${limiter.kind}; each process limits alone`,
    })
  if (draining) items.push({ ...common, key: 'draining', title: 'The server is shutting down', detail: 'It accepts no new messages.' })
  return items
}

function providerItem(
  { provider, failed, of, cause, words, since, requestId }: FailingProvider,
  { conversations }: AttentionSources['may'],
): AttentionItem {
  return {
    key: `provider ${provider}`,
    kind: 'provider',
    level: 'broken',
    title: `Provider ${provider} fails`,
    detail: `${cause}, ${failed} of the last ${of} turns${words ? `: ${words}` : ''}`,
    since,
    action: conversations
      ? { label: 'Open trace', href: `/turns/${encodeURIComponent(requestId)}` }
      : { label: 'View traces', href: '/turns?status=released' },
  }
}

function balanceItem(owner: Owner, spent: bigint | undefined, mayBill: boolean): AttentionItem[] {
  const { id, name, available_usd: usd, low_balance_usd: threshold, balance_usd: balance } = owner
  const available = readAmount(usd) ?? 0n
  const low = lowOf(available, spent)
  const isBelow = threshold !== null && (readAmount(balance) ?? 0n) < (readAmount(threshold) ?? 0n)
  if (!low && !isBelow) return []
  const isEmpty = low?.reason === 'empty'
  const reason = low ? formatLow(low) : `Below your threshold of ${shortMoney(threshold ?? '0')}`
  return [
    {
      key: `owner ${id}`,
      kind: 'balance',
      level: isEmpty ? 'broken' : 'soon',
      title: isEmpty ? `${name} has no available balance` : `${name} has a low balance`,
      detail: isEmpty ? 'New messages to its agents are rejected with 402.' : `${shortMoney(usd)} available. ${reason}.`,
      since: null,
      action: { label: mayBill ? 'Add credit' : 'View owner', href: `/money/${encodeURIComponent(id)}` },
    },
  ]
}

function reportedItem(one: Attention, nameOf: (agentId: string) => string): AttentionItem {
  switch (one.kind) {
    case 'document':
      return {
        key: one.document_id,
        kind: 'document',
        level: 'soon',
        title: `“${one.title}” was not indexed`,
        detail: `${nameOf(one.agent_id)}: ${one.reason}`,
        since: one.since,
        action: { label: 'Open document', href: `/knowledge/${encodeURIComponent(one.agent_id)}/${encodeURIComponent(one.document_id)}` },
      }
    case 'spend_limit': {
      const percent = usedPercent(one)
      const who = one.external_user_id ?? one.key_id ?? labelOf(scopes, one.scope)
      const isReached = percent >= 100
      return {
        key: `limit ${one.agent_id} ${one.scope} ${one.window} ${who}`,
        kind: 'limit',
        level: isReached ? 'broken' : 'soon',
        title: isReached ? 'Spend limit reached' : `Spend limit ${percent}% used`,
        detail: `${who} on ${nameOf(one.agent_id)}: ${windowNames[one.window]} limit of ${shortMoney(one.limit_usd)}`,
        since: null,
        until: one.ends_at,
        action: { label: 'View limits', href: `/agents/${encodeURIComponent(one.agent_id)}/limits` },
      }
    }
    case 'webhook':
      return {
        key: one.webhook_id,
        kind: 'webhook',
        level: 'broken',
        title: one.disabled ? `Webhook ${placeOf(one.url)} was disabled` : `Webhook ${placeOf(one.url)} fails`,
        detail: webhookDetail(one),
        since: one.since,
        action: { label: 'Open webhook', href: `/webhooks/${encodeURIComponent(one.webhook_id)}` },
      }
  }
}

const windowNames = { day: 'daily', month: 'monthly', total: 'all-time' }

function webhookDetail({ deliveries, reason }: Extract<Attention, { kind: 'webhook' }>): string {
  const count = deliveries >= 100 ? 'at least 100 deliveries' : `${writeCount(deliveries)} ${deliveries === 1 ? 'delivery' : 'deliveries'}`
  return [deliveries > 0 ? `${count} failed` : null, reason].filter((part) => part !== null).join(': ')
}

/** Several webhooks may have one host. */
function placeOf(url: string): string {
  if (!URL.canParse(url)) return url
  const { host, pathname } = new URL(url)
  return `${host}${pathname === '/' ? '' : pathname}`
}
