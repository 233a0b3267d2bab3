/**
 * What an operator should look at, over all agents: documents that failed, spend limits that are nearly used, and webhooks that do not
 * deliver. Read-only, each from an index.
 */
import { spendScopes, spendSpans, windowAt } from '../../spend-limits.ts'
import type { Sql } from '../sql.ts'
import { bigInteger, integer, integerOrNull, text, textOrNull } from './columns.ts'
import { Values } from './reported-turns.ts'
import { isAgentOf } from './scope-of.ts'
import type { Within } from './scope.ts'
import { amountsOf, limitAmount, limitedWindows, usedShare } from './spending.ts'
import type { Spending } from './spending.ts'
import { isWithin as isEventWithin } from './webhooks/deliveries.ts'
import { isWithin as isWebhookWithin } from './webhooks/webhooks.ts'
import { read } from './operation.ts'
import { withinScope } from './scope.ts'

export type FailedDocument = { kind: 'document'; agentId: string; documentId: string; title: string; reason: string; since: number }
/** At least 80 percent of the limit are used. */
export type UsedLimit = { kind: 'spend_limit'; agentId: string } & Spending
/** `since`: of the first delivery that it has not received, or when the service disabled it. `deliveries`: at most 100. */
export type FailingWebhook = {
  kind: 'webhook'
  webhookId: string
  url: string
  isDisabled: boolean
  reason: string | null
  deliveries: number
  since: number
}
export type Attention = FailedDocument | UsedLimit | FailingWebhook

/** Of each kind; more than anyone reads. */
const maxItems = 100

/** `within`: of a restricted principal (`operator.scope`). */
export async function listAttention(sql: Sql, { within }: { within?: Within | undefined }): Promise<Attention[]> {
  return [...(await failedDocuments(sql, within)), ...(await usedLimits(sql, within)), ...(await failingWebhooks(sql, within))]
}

async function failedDocuments(sql: Sql, within: Within | undefined): Promise<FailedDocument[]> {
  const values = new Values()
  const rows = await sql.all(
    `select d.id, d.agent_id, d.title, d.reason, d.updated_at from documents d
     where d.status = 'failed' and exists (select 1 from agents a where a.id = d.agent_id and a.deleted_at is null)
       ${isOfAgent(sql, 'd.agent_id', within, values)}
     order by d.updated_at desc, d.id desc limit ${maxItems}`,
    ...values.list,
  )
  return rows.map((row) => ({
    kind: 'document',
    agentId: text(row, 'agent_id'),
    documentId: text(row, 'id'),
    title: text(row, 'title'),
    reason: text(row, 'reason'),
    since: integer(row, 'updated_at'),
  }))
}

async function usedLimits(sql: Sql, within: Within | undefined): Promise<UsedLimit[]> {
  const now = await sql.now()
  const found: (UsedLimit & { share: number })[] = []
  for (const span of spendSpans) {
    const window = windowAt(span, now)
    const values = new Values()
    const rows = await sql.all(
      `select s.agent_id, s.scope, s.subject, s.spent, s.held, s.unpaid, ${limitAmount} as amount from ${limitedWindows(sql)}
       where s.span = ${values.add(span)} and s.starts_at = ${values.add(window.startsAt)} and s.subject is not null
         and (s.spent + s.held + s.unpaid) * 5 >= ${limitAmount} * 4
         and not exists (select 1 from api_keys k where s.scope = 'api_key' and k.id = s.subject and k.revoked_at is not null)
         ${isOfAgent(sql, 's.agent_id', within, values)}
       order by ${usedShare} desc, s.id limit ${maxItems}`,
      ...values.list,
    )
    for (const row of rows) {
      const scope = spendScopes.find((known) => known === row['scope'])
      if (!scope) throw new Error(`a window of agent ${text(row, 'agent_id')} has an unknown scope`)
      const [subject, limit, amounts] = [text(row, 'subject'), bigInteger(row, 'amount'), amountsOf(row)]
      const share = Number(amounts.spent + amounts.held + amounts.unpaid) / Math.max(1, Number(limit))
      found.push({ share, kind: 'spend_limit', agentId: text(row, 'agent_id'), scope, subject, span, ...window, limit, ...amounts })
    }
  }
  return found.toSorted((one, other) => other.share - one.share).map(({ share: _, ...limit }) => limit)
}

async function failingWebhooks(sql: Sql, within: Within | undefined): Promise<FailingWebhook[]> {
  const values = new Values()
  // A webhook keeps the deliveries of the owners that it was for before.
  const isSeen = within ? `and exists (select 1 from events e where e.id = d.event_id ${isEventWithin(within, values)})` : ''
  // After the last attempt. Those before the newest success do not matter any more.
  const failed = `select d.created_at, d.error from deliveries d where d.webhook_id = w.id and d.state = 'failed' ${isSeen}
    and d.created_at > coalesce((select max(l.created_at) from deliveries l where l.webhook_id = w.id and l.state = 'delivered'), 0)
    order by d.created_at desc, d.event_id desc limit ${maxItems}`
  // Between two attempts. Of the oldest ones only: a backlog is never read as a whole.
  const retried = `select p.created_at, p.error from (select d.created_at, d.attempts, d.error from deliveries d
    where d.webhook_id = w.id and d.state = 'pending' ${isSeen} order by d.created_at, d.event_id limit ${maxItems}) as p
    where p.attempts > 0 or p.error is not null`
  const summary = (deliveries: string, name: string): string =>
    `(select count(*) from (${deliveries}) as f) as ${name}, (select min(f.created_at) from (${deliveries}) as f) as ${name}_at,
     (select max(f.error) from (${deliveries}) as f) as ${name}_error`
  const rows = await sql.all(
    `select w.id, w.url, w.enabled, w.disabled_reason, w.updated_at, ${summary(failed, 'failed')}, ${summary(retried, 'retried')}
     from (select * from webhooks where (enabled = 1 or disabled_reason is not null) ${isWebhookWithin(sql, within, values)}) as w
     order by w.id`,
    ...values.list,
  )
  return rows.flatMap((row): FailingWebhook[] => {
    const isDisabled = integer(row, 'enabled') === 0
    const deliveries = Math.min(maxItems, integer(row, 'failed') + integer(row, 'retried'))
    if (!isDisabled && deliveries === 0) return []
    const starts = [integerOrNull(row, 'failed_at'), integerOrNull(row, 'retried_at')].filter((at) => at !== null)
    return [
      {
        kind: 'webhook',
        webhookId: text(row, 'id'),
        url: text(row, 'url'),
        isDisabled,
        reason: textOrNull(row, 'disabled_reason') ?? textOrNull(row, 'failed_error') ?? textOrNull(row, 'retried_error'),
        deliveries,
        since: isDisabled ? integer(row, 'updated_at') : Math.min(...starts),
      },
    ]
  })
}

function isOfAgent(sql: Sql, name: string, within: Within | undefined, values: Values): string {
  if (!within) return ''
  // As an expression, so that no index by agent is chosen: it would read all documents of the owner.
  const column = `${name} || ''`
  const ofOwner = `and ${isAgentOf(sql, column, values.add(within.ownerId))}`
  return within.agentId === null ? ofOwner : `${ofOwner} and ${column} = ${values.add(within.agentId)}`
}

export const attentionReads = {
  listAttention: read(listAttention, {
    queue: 'report',
    scope: withinScope,
    readings: null,
  }),
}
