/** Mutants that remove the constraints of the schema, one at a time. A constraint is the last check of its rule, whatever code writes. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

export const constraintMutants: Mutant[] = [
  constraint('one_turn_per_key', 'create unique index one_turn_per_key on', 'create index one_turn_per_key on'),
  constraint(
    'one_running_turn_per_conversation',
    'create unique index one_running_turn_per_conversation on',
    'create index one_running_turn_per_conversation on',
  ),
  constraint('one_charge_per_turn', 'create unique index one_charge_per_turn on', 'create index one_charge_per_turn on'),
  constraint('operator.invitation', 'create unique index one_invitation_per_operator on', 'create index one_invitation_per_operator on'),
  constraint('balance_never_negative', '  constraint balance_never_negative check (balance >= 0),\n', ''),
  constraint('running_has_lease', "  constraint running_has_lease check ((state = 'running') = (lease_until is not null)),\n", ''),
]

function constraint(rule: string, find: string, replace: string): Mutant {
  return {
    rule,
    removes: 'the constraint',
    edits: [edit(find, replace, { within: 'src/store/sqlite/' })],
    caughtBy: { file: 'store/sqlite.test.ts', title: 'sqlite: invalid states are rejected by a constraint, whoever writes' },
  }
}
