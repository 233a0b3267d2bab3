/** What contradicts `webhook.once` in the stored rows, for queries/invariants.ts. */
import type { Row, Sql } from '../../sql.ts'
import { endsOfRuns, eventLifetimeMs } from './events.ts'

// Old events are deleted in rounds, a few at a time.
const dayMs = 24 * 60 * 60 * 1000

/**
 * Returns each end of a run without a delivery to an enabled webhook that matches it, each event of a turn that did not happen, and each
 * event without a delivery.
 */
export async function findWrongEvents(sql: Sql, maxRows: number): Promise<Row[]> {
  const missing = await sql.all(
    `select w.id as webhook_id, e.id as event_id, 'an event that was not recorded' as problem
     from webhooks w join (${endsOfRuns('$1', '$2')}) as e on e.occurred_at > w.listening_since
       and (w.events = '["*"]' or w.events like '%"' || e.type || '"%')
       and (w.owner_id is null or w.owner_id = e.owner_id) and (w.agent_id is null or w.agent_id = e.agent_id)
     where w.enabled = 1 and not exists (select 1 from deliveries d where d.event_id = e.id and d.webhook_id = w.id) limit $3`,
    (await sql.now()) - eventLifetimeMs + dayMs,
    Number.MAX_SAFE_INTEGER,
    maxRows,
  )
  const others = await sql.all(
    `select v.id as event_id, 'an event that did not happen' as problem from events v
     where v.type like 'turn.%' and case v.type
       when 'turn.released' then not exists (
         select 1 from turn_errors x where x.request_id = substr(v.subject, 1, 36) and x.request_id || '_' || x.run = v.subject)
       else not exists (select 1 from turns t where t.request_id = v.subject and 'turn.' || t.state = v.type) end
     union all
     select v.id, 'an event without a delivery' from events v where not exists (select 1 from deliveries d where d.event_id = v.id)
     limit $1`,
    maxRows,
  )
  return [...missing, ...others].slice(0, maxRows)
}
