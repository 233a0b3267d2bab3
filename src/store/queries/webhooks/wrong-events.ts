/** What contradicts `webhook.once` in the stored rows, for queries/invariants.ts. */
import type { Row, Sql } from '../../sql.ts'
import { endsOfRuns, eventLifetimeMs } from './events.ts'
import { isForEvent } from './webhooks.ts'

// Old events are deleted in rounds, a few at a time.
const dayMs = 24 * 60 * 60 * 1000

/**
 * Returns each end of a run without a delivery to an enabled webhook that matches it, each window above a threshold that was not reported,
 * each event that did not happen, and each event without a delivery.
 */
export async function findWrongEvents(sql: Sql, maxRows: number): Promise<Row[]> {
  const missing = await sql.all(
    `select w.id as webhook_id, e.id as event_id, 'an event that was not recorded' as problem
     from webhooks w join (${endsOfRuns('$1', '$2')}) as e on e.occurred_at > w.listening_since
       and (w.events = '["*"]' or w.events like '%"' || e.type || '"%')
       and ${isForEvent}
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
     select v.id, 'an event that did not happen' from events v
       left join spending s on s.id = ${sql.engine === 'sqlite' ? windowIn.sqlite : windowIn.postgres}
     where v.type = 'spend_limit.reached' and (s.reported_limit is null
       or v.subject = s.id || '_' || s.reported_limit || '_80' and (s.spent + s.unpaid) * 5 < s.reported_limit * 4
       or v.subject = s.id || '_' || s.reported_limit || '_50' and (s.spent + s.unpaid) * 2 < s.reported_limit)
     union all
     select v.id, 'an event without a delivery' from events v where not exists (select 1 from deliveries d where d.event_id = v.id)
     limit $1`,
    maxRows,
  )
  const unreported = await sql.all(unreportedWindows(sql.engine), maxRows)
  return [...missing, ...unreported, ...others].slice(0, maxRows)
}

const windowIn = {
  sqlite: `cast(substr(v.subject, 1, instr(v.subject, '_') - 1) as integer)`,
  postgres: `cast(split_part(v.subject, '_', 1) as bigint)`,
}

/**
 * Windows whose last turn has ended since a webhook listens, and that are above a threshold that was not reported. Not those with charges from
 * before their limit was set: the write that adds these reports nothing. A refusal reports 100 percent of the present limit, which may not be
 * that of the last admission.
 */
const unreportedWindows = (engine: Sql['engine']): string =>
  `select w.id as webhook_id, s.id as window_id, 'a threshold that was not reported' as problem
   from spending s
     join (select cast(c.value as bigint) as id, max(t.ended_at) as ended_at
       from turns t ${engine === 'sqlite' ? 'cross join json_each(t.counts_in) as c' : 'cross join lateral json_array_elements_text(t.counts_in::json) as c (value)'}
       where t.counts_in is not null group by cast(c.value as bigint)) as t on t.id = s.id
     join agents a on a.id = s.agent_id
     join webhooks w on w.enabled = 1 and (w.events = '["*"]' or w.events like '%"spend_limit.reached"%') and t.ended_at > w.listening_since
       and (w.owner_id is null or w.owner_id = a.owner_id) and (w.agent_id is null or w.agent_id = s.agent_id)
   where s.held = 0 and s.earlier = 0
     and case when (s.spent + s.unpaid) >= s.max_amount then 100 when (s.spent + s.unpaid) * 5 >= s.max_amount * 4 then 80
       when (s.spent + s.unpaid) * 2 >= s.max_amount then 50 else 0 end
       > case when s.reported_limit = s.max_amount or s.reported_percent = 100 then s.reported_percent else 0 end limit $1`
