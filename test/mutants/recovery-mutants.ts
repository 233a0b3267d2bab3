/** Mutants of leases and recovery: who claims what, how often, and where a claimed turn continues. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const suite = 'store/sqlite.test.ts'
const orphan = 'turn.states: an orphan is claimed when its lease has expired, counted and fenced'

const processes = 'store/postgres-processes.test.ts'

export const recoveryMutants: Mutant[] = [
  {
    rule: 'turn.orphans',
    removes: 'leases are renewed at once when another process has ended',
    edits: [edit('renewsUntil = dueAt + sweepMs\n      await renew()', 'await renew()')],
    caughtBy: { file: 'unit/leases.test.ts', title: 'turn.orphans: when a process has ended, a process renews its leases at once' },
  },
  {
    rule: 'turn.orphans',
    removes: 'leases that were renewed since do not end',
    edits: [
      edit(
        "where state = 'running' and lease_until < $1 and lease_until > 0",
        "where state = 'running' and lease_until < $1::bigint + 60000 and lease_until > 0",
      ),
    ],
    caughtBy: { file: processes, title: 'turn.orphans: postgres: the end of another process is seen once' },
  },
  {
    rule: 'turn.orphans',
    removes: 'a process that lost its own connection draws no conclusion',
    edits: [edit('(own === before.own && hasEnded)', 'hasEnded')],
    caughtBy: { file: processes, title: 'turn.orphans: postgres: a process that lost its own connection knows no end' },
  },
  {
    rule: 'turn.orphans',
    removes: 'no lease ends early beside an older version',
    edits: [edit("a.query like 'listen turnkeep_changed%'", "a.query like 'no such query'")],
    caughtBy: { file: processes, title: 'turn.orphans: postgres: a process that lost its own connection knows no end' },
  },
  {
    rule: 'turn.states',
    removes: 'turns without an attempt left do not wait for other suspects',
    edits: [edit("      if (item.which === 'fresh') break\n", '      break\n')],
    caughtBy: { file: suite, title: 'turn.states: turns without an attempt left are ended at once' },
  },
  {
    rule: 'turn.states',
    removes: 'a claim counts as an attempt',
    edits: [edit('sql.claimTurn.run(attempt + 1, ', 'sql.claimTurn.run(attempt, ')],
    caughtBy: { file: suite, title: orphan },
  },
  {
    rule: 'turn.states',
    removes: 'three attempts and no more',
    edits: [
      edit('export const maxAttempts = 3', 'export const maxAttempts = 4'),
      edit('check (attempt between 1 and 3)', 'check (attempt >= 1)', { within: 'src/store/sqlite/' }),
    ],
    caughtBy: { file: suite, title: orphan },
  },
  {
    rule: 'turn.states',
    removes: 'a claim raises the fence',
    edits: [edit('const fence = Number(orphan.fence) + 1', 'const fence = Number(orphan.fence)')],
    caughtBy: { file: suite, title: orphan },
  },
  {
    rule: 'turn.states',
    removes: 'a lease that runs is not claimed',
    edits: [edit('t.lease_until <= ?', 't.lease_until >= 0 * ?')],
    caughtBy: { file: suite, title: orphan },
  },
  {
    rule: 'turn.states',
    removes: 'a process never claims a turn it runs itself',
    edits: [edit('    if (own.has(requestId)) continue\n')],
    caughtBy: { file: suite, title: orphan },
  },
  {
    rule: 'turn.states',
    removes: 'a run ends here if another process had its turn in between',
    edits: [edit('if (own && turn.fence === own.admitted.fence + 1) own', 'if (own) own')],
    caughtBy: { file: 'unit/leases.test.ts', title: 'turn.states: if another process had the turn in between' },
  },
  {
    rule: 'turn.states',
    removes: 'suspects are claimed one at a time',
    edits: [edit('Math.min(1, item.limit)', 'item.limit')],
    caughtBy: { file: suite, title: 'turn.states: suspects are claimed one at a time, after all fresh turns' },
  },
  {
    rule: 'turn.states',
    removes: 'suspects run after everything fresh',
    edits: [edit("    if ((attempt === 1) !== (item.which === 'fresh')) continue\n")],
    caughtBy: { file: suite, title: 'turn.states: suspects are claimed one at a time, after all fresh turns' },
  },
  {
    rule: 'turn.states',
    removes: 'recovery reads the journal: a step is asked and paid again',
    edits: [edit('new Steps(request.journal, request.stepsBefore)', 'new Steps([], 0)')],
    caughtBy: {
      file: 'race/crash.test.ts',
      title: 'fault.kill-before-settlement turn.states: kill -9 after a journaled step: the restart continues from it',
    },
  },
  {
    rule: 'running_has_lease',
    removes: 'a lease that is released is free immediately',
    edits: [edit('sql.renewLease.run(0, lease.requestId, lease.fence)', 'sql.renewLease.run(0, lease.requestId, 0)')],
    caughtBy: { file: suite, title: 'running_has_lease: a renewed lease is kept, a lost one is reported' },
  },
  {
    rule: 'running_has_lease',
    removes: 'the fence in the renewal',
    edits: [
      edit(
        "set lease_until = ? where request_id = ? and fence = ? and state = 'running'",
        "set lease_until = ? where request_id = ? and ? > 0 and state = 'running'",
      ),
    ],
    caughtBy: { file: suite, title: 'running_has_lease: a renewed lease is kept, a lost one is reported' },
  },
  {
    rule: 'running_has_lease',
    removes: 'at a start every lease of the dead process is over',
    edits: [edit('  turnPath.endAllLeases()\n')],
    caughtBy: { file: suite, title: 'sqlite: running_has_lease: at start every turn of a dead process can be' },
  },
]
