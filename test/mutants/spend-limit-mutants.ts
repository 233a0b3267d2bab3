/** Mutants of spend limits, on both stores: where a turn counts, how its end corrects it, and which limits apply. */
import { edit } from './mutant.ts'
import type { Edit, Mutant } from './mutant.ts'

const rule = 'billing.spend-limit'
const fits = 'billing.spend-limit: a limit of agent admits what fits to the last unit'
const ends = 'billing.spend-limit: each end of a turn corrects every window'
const boundary = 'billing.spend-limit: a turn counts in the window of its admission'
const bounded = 'billing.spend-limit: an extension that does not fit journals nothing'
const own = "billing.spend-limit: an end user's own limits replace"
const earlier = 'billing.spend-limit: a new limit counts what was charged'
const forgets = 'billing.spend-limit erase: an erasure removes the name'
const order = 'billing.spend-limit: a busy conversation comes before a limit'
const lacked = 'billing.spend-limit billing.unpaid: what a turn lacked in the balance'
const removed = 'billing.spend-limit: when the own limits of an end user are removed'
const died = 'billing.spend-limit: a turn whose process died'

const onSqlite = (removes: string, title: string, ...edits: Edit[]): Mutant => ({
  rule,
  removes,
  edits,
  caughtBy: { file: 'store/sqlite.test.ts', title: `sqlite: ${title}` },
})
const onPostgres = (removes: string, title: string, ...edits: Edit[]): Mutant => ({
  rule,
  removes: `on PostgreSQL ${removes}`,
  edits,
  caughtBy: { file: 'store/postgres.test.ts', title: `postgres: ${title}` },
})

export const spendLimitMutants: Mutant[] = [
  onSqlite(
    'what a turn lacked in the balance does not use up a limit',
    lacked,
    edit('findExceeded(windows, now, needed) ? bound : needed', 'needed'),
  ),
  onPostgres(
    'what a turn lacked in the balance does not use up a limit',
    lacked,
    edit('exit when not exceeded or item.hold_needed = item.bound;', 'exit when true;'),
  ),
  onSqlite(
    'limits of an agent that apply again count what was charged meanwhile',
    removed,
    edit("if (limit.scope === 'end_user') await countEarlier", "if (limit.scope === 'agent') await countEarlier"),
  ),
  onSqlite(
    'a new limit of an end user counts what was charged while there was none',
    removed,
    edit('  for (const limit of limits) if (limit.since === now) await countEarlier(sql, agentId, limit, now, externalUserId)\n'),
  ),
  onSqlite(
    'what is held counts',
    fits,
    edit('select id, spent + held + unpaid as used from spending', 'select id, spent + unpaid as used from spending'),
    edit('check (spent + held + unpaid <= max_amount)', 'check (spent + unpaid <= max_amount)', { within: 'src/store/sqlite/' }),
  ),
  onSqlite(
    'a limit comes before the balance',
    order,
    edit('    return exceeded\n', '', { at: 'billing.spend-limit' }),
    edit(
      "return { kind: 'insufficient_balance' }\n",
      "return { kind: 'insufficient_balance' }\n  if (exceeded) {\n    sql.releaseHold.run(hold, 0n, ownerId)\n    return exceeded\n  }\n",
      { at: 'conversation.busy' },
    ),
  ),
  onSqlite(
    'a settlement corrects its windows',
    ends,
    edit('  if (turn.counts_in !== null) sql.settleSpending.run(item.charged, turn.hold!, turn.counts_in!)\n'),
  ),
  onSqlite(
    'what a turn without a reply used counts',
    ends,
    edit('releaseSpending.run(charged, hold, reserved, turn', 'releaseSpending.run(charged, hold, 0n, turn'),
  ),
  onSqlite(
    'an extension of a hold counts',
    ends,
    edit('      if (turn.counts_in !== null) sql.extendSpending.run(more, turn.counts_in!)\n'),
  ),
  onSqlite('an extension must fit', bounded, edit('        return refused\n', '', { at: 'billing.spend-limit-2' })),
  onSqlite(
    'a window ends',
    boundary,
    edit("if (span === 'total') return", "if (span === 'total' || span === 'day') return", { at: 'billing.spend-limit-3' }),
  ),
  onSqlite('a month is a calendar month', boundary, edit('at.getUTCMonth() + 1) }', 'at.getUTCMonth() + 2) }')),
  onSqlite(
    "an end user's own limits replace those of the agent",
    own,
    edit("...ofAgent.filter(({ scope }) => scope !== 'end_user'), ...ofEndUser", '...ofAgent, ...ofEndUser'),
  ),
  onSqlite(
    'a new limit counts earlier charges of an end user',
    earlier,
    edit("const before = scope === 'end_user' && since > window.startsAt", 'const before = false'),
  ),
  onSqlite(
    'a new limit counts earlier charges of a key or agent',
    earlier,
    edit("if (limit.since === now && limit.scope !== 'end_user') await countEarlier", 'if (limit.since === now + 1) await countEarlier'),
  ),
  onSqlite('an erasure removes the name of the end user', forgets, edit('await forgetEndUsers(sql, users)', '[] as EndUser[]')),
  onPostgres(
    'what a batch holds counts',
    'billing.spend-limit: of a thousand turns at once',
    edit(
      'spend_window.used + coalesce(window_holds[array_position(window_ids, spend_window.id)], 0) + item.hold_needed',
      'spend_window.used + item.hold_needed',
    ),
    edit('check (spent + held + unpaid <= max_amount)', 'check (spent + unpaid <= max_amount)', { within: 'src/store/postgres/' }),
  ),
  onPostgres(
    'the windows of an agent are of its own end users',
    'billing.spend-limit: in one batch, one user of two agents',
    edit('case when item.agent_id = windows_of then windows end', 'windows'),
  ),
  onPostgres(
    'the windows of a key are its own',
    'billing.spend-limit: in one batch, one user of two agents',
    edit('known.subject = subject_id and', 'known.subject is not null and'),
  ),
  onPostgres('a limit comes before the balance', order, edit('when a.limited = 0 and o.balance - o.held', 'when o.balance - o.held')),
  onPostgres(
    'a settlement corrects its windows',
    ends,
    edit('set spent = s.spent + w.charged, held = s.held - w.hold\n      from', 'set held = s.held - w.hold\n      from'),
  ),
  onPostgres(
    'what a turn without a reply used counts',
    ends,
    edit(
      'held = s.held - w.hold, unpaid = s.unpaid + w.reserved\n      from (select c.id',
      'held = s.held - w.hold\n      from (select c.id',
    ),
  ),
  onPostgres(
    'a turn whose process died in each attempt gives its hold back',
    died,
    edit(
      `      update spending s set held = s.held - orphan.hold
        from json_array_elements_text(orphan.counts_in::json) as c (id) where s.id = c.id::bigint;
`,
    ),
  ),
  onPostgres(
    'an extension must fit',
    bounded,
    edit(
      '    if item.more > 0 and item.counts_in is not null then\n      select count(*) > 0',
      '    if false then\n      select count(*) > 0',
    ),
  ),
  onPostgres('a window ends', boundary, edit('      starts := at - at % day_ms;\n', '      starts := 0;\n')),
]
