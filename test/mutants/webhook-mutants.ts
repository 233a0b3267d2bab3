/** Mutants of webhooks: what is recorded, what is signed, what is sent, and when. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const store = 'store/sqlite.test.ts'
const spec = 'spec/webhooks.test.ts'

export const webhookMutants: Mutant[] = [
  {
    rule: 'webhook.delivered',
    removes: 'what a dead process was sending for the first time is due at the next start',
    edits: [edit("state = 'pending' and fence > 0 and", "state = 'pending' and attempts > 0 and")],
    caughtBy: { file: store, title: 'webhook.delivered: what a dead process was sending' },
  },
  {
    rule: 'operator.scope',
    removes: 'what is pending of another owner is not sent after a webhook was restricted',
    edits: [edit("  if ('ownerId' in change || 'agentId' in change) await endDeliveriesOfOthers(sql, id)\n")],
    caughtBy: { file: store, title: 'operator.scope: what is pending of another owner' },
  },
  {
    rule: 'operator.scope',
    removes: 'what was of another owner is not sent again',
    edits: [
      edit('join webhooks w on ${isForEvent} where e.id = $2 and w.id = $3', 'join webhooks w on true where e.id = $2 and w.id = $3'),
    ],
    caughtBy: { file: store, title: 'operator.scope: what is pending of another owner' },
  },
  {
    rule: 'operator.scope',
    removes: 'one owner has a limited number of webhooks',
    edits: [edit('if (within && (await countWebhooks', 'if (!within && (await countWebhooks')],
    caughtBy: { file: store, title: 'operator.scope: one owner cannot use up' },
  },
  {
    rule: 'webhook.once',
    removes: 'later feedback is not reported when the event of the first one is deleted',
    edits: [edit('  if (!earlier) {', '  if (earlier || !earlier) {', { at: 'webhook.once' })],
    caughtBy: { file: store, title: 'webhook.once feedback.created: once for a turn' },
  },
  {
    rule: 'webhook.delivered',
    removes: 'an attempt whose process died does not count',
    edits: [
      edit(
        'set next_at = $1, fence = fence + 1, status = null',
        'set next_at = $1, attempts = attempts + 1, fence = fence + 1, status = null',
      ),
    ],
    caughtBy: { file: store, title: 'webhook.delivered: an attempt counts when its result is stored' },
  },
  {
    rule: 'webhook.once',
    removes: 'each release of a turn is an event',
    edits: [edit("state === 'released' ? `${requestId}_${turn['run']}` : requestId!", 'requestId!')],
    caughtBy: { file: store, title: 'webhook.once: each end of a run is one event' },
  },
  {
    rule: 'webhook.once',
    removes: 'a turn without a reply is an event',
    edits: [edit('  recordEnd(sql, turn, end, now)\n')],
    caughtBy: { file: store, title: 'webhook.once: a turn whose processes died in each attempt' },
  },
  {
    rule: 'webhook.once',
    removes: 'a webhook of one agent gets its events only',
    edits: [edit('and (agent_id is null or agent_id = ?)', 'and (agent_id is null or agent_id <> ?)')],
    caughtBy: { file: store, title: 'webhook.once: only the events, the owner and the agent' },
  },
  {
    rule: 'webhook.once',
    removes: 'a threshold of a spend limit is reported once, also after its event was deleted',
    edits: [edit('    sql.markReported.run(limit, reached.at(-1)!, id)\n')],
    caughtBy: { file: store, title: 'webhook.once spend_limit.reached: once for each limit of a window' },
  },
  {
    rule: 'webhook.once',
    removes: 'a turn without a reply can bring a window to a threshold',
    edits: [edit('if (countsIn !== null) recordReachedLimits', "if (countsIn !== null && state === 'completed') recordReachedLimits")],
    caughtBy: { file: store, title: 'webhook.once spend_limit.reached: a charge that brings' },
  },
  {
    rule: 'webhook.once',
    removes: 'the holds of other turns do not use up a limit',
    edits: [edit('select id, spent + unpaid as used, max_amount', 'select id, spent + held + unpaid as used, max_amount')],
    caughtBy: { file: store, title: 'webhook.once spend_limit.reached: the first turn that the rest does not cover' },
  },
  {
    rule: 'webhook.once',
    removes: 'on PostgreSQL a threshold of a spend limit is reported once, also after its event was deleted',
    edits: [edit('case when s.reported_limit = u.max_amount then s.reported_percent else 0 end', '0')],
    caughtBy: { file: 'store/postgres.test.ts', title: 'webhook.once spend_limit.reached: once for each limit of a window' },
  },
  {
    rule: 'webhook.once',
    removes: 'on PostgreSQL a refused turn uses up a limit',
    edits: [edit(' or p.percent = 100 and u.used + u.needed > u.max_amount)', ')')],
    caughtBy: { file: 'store/postgres.test.ts', title: 'webhook.once spend_limit.reached: the first turn that the rest does not cover' },
  },
  {
    rule: 'webhook.once',
    removes: 'a refusal reports only windows that it finds used up',
    edits: [edit('  if (needed > 0n && !isUsedUp) return []\n')],
    caughtBy: { file: store, title: 'webhook.once spend_limit.reached: a refusal reports the windows that refuse' },
  },
  {
    rule: 'webhook.once',
    removes: 'on PostgreSQL a refusal reports only windows that it finds used up',
    edits: [edit('        and (u.needed = 0 or u.used + u.needed > u.max_amount)\n')],
    caughtBy: { file: 'store/postgres.test.ts', title: 'webhook.once spend_limit.reached: a refusal reports the windows that refuse' },
  },
  {
    rule: 'webhook.delivered',
    removes: 'only the last claim stores its result',
    edits: [edit('deliveries.fence = r.fence', 'deliveries.fence >= r.fence')],
    caughtBy: { file: store, title: 'webhook.delivered: a due delivery is claimed by one of several' },
  },
  {
    rule: 'webhook.delivered',
    removes: 'an event that cannot be read fails its own delivery only',
    edits: [edit("unreadable.push({ id: text(row, 'id'), problem: (error as Error).message })", 'throw error')],
    caughtBy: { file: spec, title: 'webhook.delivered: an event that cannot be read' },
  },
  {
    rule: 'webhook.delivered',
    removes: '410 disables the webhook',
    edits: [edit('if (status === 410)', 'if (status === 411)')],
    caughtBy: { file: spec, title: 'webhook.delivered: 410 disables the webhook' },
  },
  {
    rule: 'webhook.delivered',
    removes: 'the fifth attempt is two hours after the fourth',
    edits: [edit('2 * hour, 5 * hour', '3 * hour, 5 * hour')],
    caughtBy: { file: spec, title: 'webhook.delivered: a failed attempt is repeated on the schedule' },
  },
  {
    rule: 'webhook.signed',
    removes: 'the ID is signed',
    edits: [edit('`${id}.${timestamp}.${body}`', '`${timestamp}.${body}`')],
    caughtBy: { file: spec, title: 'webhook.signed: a delivery is verified by the libraries' },
    symptom: 'throws',
  },
  {
    rule: 'webhook.signed',
    removes: 'the previous secret ends with its grace period',
    edits: [
      edit("graceMs > 0 ? 'sealed_secret' : 'null'", "graceMs >= 0 ? 'sealed_secret' : 'null'"),
      edit('graceMs > 0 ? now + graceMs : null', 'now + graceMs + 60_000'),
    ],
    caughtBy: { file: spec, title: 'webhook.signed: for the grace period both secrets verify' },
  },
  {
    rule: 'webhook.signed',
    removes: 'a second rotation leaves the first secret its grace period',
    edits: [edit('const earlier = graceMs > 0 ? webhook.oldSecrets.filter', 'const earlier = graceMs < 0 ? webhook.oldSecrets.filter')],
    caughtBy: { file: spec, title: 'webhook.signed: each secret signs until its own grace period ends' },
  },
  {
    rule: 'webhook.slots',
    removes: 'a response whose body does not end occupies no slot',
    edits: [edit('void response.body?.cancel().catch(() => undefined)', 'await response.arrayBuffer()')],
    caughtBy: { file: spec, title: 'webhook.slots: a response whose body does not end' },
  },
  {
    rule: 'webhook.messages',
    removes: 'a webhook without messages gets none',
    edits: [
      edit(
        '...(includeMessages ? { comment: data.comment } : {})',
        '...(includeMessages || data.comment ? { comment: data.comment } : {})',
      ),
    ],
    caughtBy: { file: spec, title: 'webhook.messages: texts of end users' },
  },
  {
    rule: 'webhook.slots',
    removes: 'an endpoint has a number of slots',
    edits: [edit('const slotsPerWebhook = 16', 'const slotsPerWebhook = 1_000', { at: 'webhook.slots' })],
    caughtBy: { file: spec, title: 'webhook.slots: an endpoint that hangs does not delay another one' },
  },
  {
    rule: 'webhook.replay',
    removes: 'a replay sends what was delivered again',
    edits: [
      edit(
        "on conflict (event_id, webhook_id) do update set state = 'pending', attempts = 0",
        'on conflict (event_id, webhook_id) do update set attempts = 0',
      ),
    ],
    caughtBy: { file: store, title: 'webhook.replay: sends a range again' },
    symptom: 'throws',
  },
]
