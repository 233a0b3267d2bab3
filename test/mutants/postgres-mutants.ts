/** Mutants of the turn path and the constraints on PostgreSQL: they remove the same checks there as the mutants of the embedded store. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const file = 'store/postgres.test.ts'
const fence = `trace bytea)
      join turns t on t.request_id = i.request_id and t.fence = i.fence and t.lease_until is not null`
const journalFence = `join turns t on t.request_id = i.request_id and t.fence = i.fence and t.lease_until is not null
      order by t.request_id for no key update of t) as t;
  perform 1 from owners o where o.id in (select t.owner_id from json_to_recordset(`

export const postgresMutants: Mutant[] = [
  {
    rule: 'order.admission',
    removes: "on PostgreSQL the record comes before the agent's state",
    edits: [
      edit(
        "          when same and r.state = 'completed' then 'replay'\n",
        "          when a.enabled <> 1 then 'agent_disabled'\n          when same and r.state = 'completed' then 'replay'\n",
      ),
    ],
    caughtBy: { file, title: 'postgres: order.admission: the record, then the agent' },
  },
  {
    rule: 'order.validation',
    removes: 'on PostgreSQL a message that the agent does not take is refused',
    edits: [edit("          when i.message_length > coalesce(v.max_message_length, default_max_length) then 'message_too_long'\n")],
    caughtBy: { file, title: 'postgres: order.validation: a message that is too long' },
  },
  {
    rule: 'idempotency.conflict',
    removes: 'on PostgreSQL another body conflicts',
    edits: [edit("          when live and not same then 'idempotency_conflict'\n")],
    caughtBy: { file, title: 'postgres: idempotency.in-progress idempotency.conflict' },
  },
  {
    rule: 'idempotency.lifetime',
    removes: 'on PostgreSQL a record ends',
    edits: [edit('(r.ended_at is null or r.ended_at + lifetime > at)', 'true')],
    caughtBy: { file, title: 'postgres: idempotency.lifetime clock' },
  },
  {
    rule: 'clock',
    removes: "on PostgreSQL time is the store's own",
    edits: [
      edit(
        'at bigint := now_ms();\n  item record;',
        'at bigint := floor(extract(epoch from clock_timestamp()) * 1000)::bigint;\n  item record;',
      ),
    ],
    caughtBy: { file, title: 'postgres: idempotency.lifetime clock' },
  },
  {
    rule: 'conversation.busy',
    removes: 'on PostgreSQL a second message waits for the first',
    edits: [
      edit(
        "          when exists (select from turns busy where busy.conversation_id = c.id and busy.state = 'running') then 'conversation_busy'\n",
      ),
    ],
    caughtBy: { file, title: 'postgres: conversation.busy: stores nothing for the rejected message' },
  },
  {
    rule: 'conversation.identity',
    removes: 'on PostgreSQL the name of an end user is case-sensitive',
    edits: [edit('c.external_user_id = i.external_user_id', "replace(c.external_user_id, ' ', '') = replace(i.external_user_id, ' ', '')")],
    caughtBy: { file, title: 'postgres: conversation.identity: one conversation per key' },
  },
  {
    rule: 'balance_never_negative',
    removes: 'on PostgreSQL what is held fits the balance, by check, by running sum and by constraint',
    edits: [
      edit("          when a.limited = 0 and o.balance - o.held - o.unpaid < w.hold_needed then 'insufficient_balance'\n"),
      edit('if item.available - taken < item.hold_needed then', 'if false then'),
      edit('constraint held_within_balance check (held >= 0 and held <= balance)', 'constraint held_within_balance check (held >= 0)', {
        within: 'src/store/postgres/',
      }),
    ],
    caughtBy: { file, title: 'postgres: balance_never_negative: a balance for seven' },
  },
  {
    rule: 'billing.unpaid',
    removes: 'on PostgreSQL a process that died reserves nothing',
    edits: [
      edit(
        'update owners set held = held - orphan.hold where',
        'update owners set held = held - orphan.hold, unpaid = unpaid + orphan.hold where',
      ),
    ],
    caughtBy: { file, title: 'postgres: billing.unpaid: of a turn whose process died in each attempt' },
  },
  {
    rule: 'billing.unpaid',
    removes: 'on PostgreSQL what turns without a reply used stays reserved',
    edits: [edit(', held = o.held - s.hold, unpaid = o.unpaid + s.reserved', ', held = o.held - s.hold')],
    caughtBy: { file, title: 'postgres: billing.unpaid: what a turn without a reply used is reserved, never charged' },
  },
  {
    rule: 'turn.states',
    removes: 'on PostgreSQL the fence of a settlement',
    edits: [edit(fence, fence.replace(' and t.fence = i.fence', ''))],
    caughtBy: { file, title: 'postgres: turn.states: a released turn gives its hold back' },
  },
  {
    rule: 'one_charge_per_turn',
    removes: 'on PostgreSQL a turn that has ended is not settled again',
    edits: [edit(fence, fence.replace(' and t.lease_until is not null', ''))],
    caughtBy: { file, title: 'postgres: one_charge_per_turn: a settlement succeeds once' },
  },
  {
    rule: 'billing.once',
    removes: 'on PostgreSQL the charge leaves the balance',
    edits: [
      edit(
        'update owners o set balance = o.balance - s.charged, held = o.held - s.hold\n    from (select n.',
        'update owners o set held = o.held - s.hold\n    from (select n.',
      ),
    ],
    caughtBy: { file, title: 'postgres: billing.once idempotency.replay: settlement stores both messages' },
  },
  {
    rule: 'running_has_lease',
    removes: 'on PostgreSQL a renewal reaches the lease',
    edits: [edit('set lease_until = coalesce(now_ms() + lease_ms, 0)', 'set lease_until = coalesce(lease_until + 0 * lease_ms, 0)')],
    caughtBy: { file, title: 'postgres: running_has_lease: a renewed lease is kept' },
  },
  {
    rule: 'turn.states',
    removes: 'on PostgreSQL a process does not claim its own turn',
    edits: [
      edit(
        'and t.lease_until <= at and not t.request_id = any (running)\n          and case which',
        'and t.lease_until <= at\n          and case which',
      ),
    ],
    caughtBy: { file, title: 'postgres: turn.states: an orphan is claimed when its lease has expired' },
  },
  {
    rule: 'turn.states',
    removes: 'on PostgreSQL only a claim without an answer is repeated',
    edits: [
      edit('      delete unanswered[which]\n', ''),
      edit('const holder = unanswered[which] ?? randomUUID()', 'const holder = (unanswered[which] ??= randomUUID())'),
    ],
    caughtBy: { file, title: 'postgres: turn.states: two claims at the same time take each orphan once' },
  },
  {
    rule: 'turn.states',
    removes: 'on PostgreSQL a claim raises the fence',
    edits: [edit('attempt = attempt + 1, fence = fence + 1, lease_until', 'attempt = attempt + 1, lease_until')],
    caughtBy: { file, title: 'postgres: turn.states: an orphan is claimed when its lease has expired' },
  },
  {
    rule: 'billing.hold',
    removes: 'on PostgreSQL an extension of the hold fits the balance',
    edits: [edit('if item.more > 0 and item.available - taken < item.more then', 'if false then')],
    caughtBy: { file, title: 'postgres: billing.hold: a batch of advances' },
  },
  {
    rule: 'billing.hold',
    removes: 'on PostgreSQL the fence of an advance',
    edits: [edit(journalFence, journalFence.replace(' and t.fence = i.fence', ''))],
    caughtBy: { file, title: 'postgres: billing.hold: advance journals a step' },
  },
  {
    rule: 'retry.continues',
    removes: 'on PostgreSQL a run that continues keeps its version',
    edits: [
      edit(
        'and v.version = case when same and r.continues_from is not null then r.agent_version else a.version end',
        'and v.version = a.version',
      ),
    ],
    caughtBy: { file, title: 'postgres: retry.continues: a finished side effect keeps version, price, window and journal' },
  },
  {
    rule: 'retry.continues',
    removes: 'on PostgreSQL only a finished side effect makes a retry continue',
    edits: [
      edit('case when i.finished_side_effects then t.run end', 't.run'),
      edit('(i.finished_side_effects and t.continues_from is null)', 't.continues_from is null'),
    ],
    caughtBy: { file, title: 'postgres: retry.continues: without a finished side effect' },
  },
  {
    rule: 'retry.continues',
    removes: 'on PostgreSQL a run is handed the journal of the runs that it continues',
    edits: [edit('j.run >= coalesce(turn.continues_from, turn.run)', 'j.run = turn.run')],
    caughtBy: { file, title: 'postgres: retry.continues: the journal counts from the first run' },
  },
  {
    rule: 'retry.continues',
    removes: 'on PostgreSQL a run is handed no more than the runs that it continues',
    edits: [edit('j.run >= coalesce(turn.continues_from, turn.run)', 'j.run >= 1')],
    caughtBy: { file, title: 'postgres: retry.continues: the journal counts from the first run' },
  },
  {
    rule: 'retry.continues',
    removes: 'on PostgreSQL a finished call that an earlier run has stored is stored once',
    edits: [edit('and j.run >= coalesce(t.continues_from, t.run)', 'and j.run = t.run', { within: 'src/store/postgres/' })],
    caughtBy: { file, title: 'postgres: retry.continues: the journal counts from the first run' },
  },
  {
    rule: 'turn.errors',
    removes: 'on PostgreSQL an error has the cause of its run',
    edits: [
      edit('select t.request_id, t.run, i.cause_kind, t.ended_at from', "select t.request_id, t.run, 'internal_error', t.ended_at from"),
    ],
    caughtBy: { file, title: 'postgres: turn.errors: each run without a reply is one error with its cause' },
  },
]
