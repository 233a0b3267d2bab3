/** Mutants of the restriction of principals to an owner or an agent (`operator.scope`). */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const everyOperation = { file: 'spec/operator-isolation.test.ts', title: 'restricted to an owner, no response says anything' }
const everyOperationOfAgent = {
  file: 'spec/operator-isolation.test.ts',
  title: 'restricted to an agent of an owner, no response says anything',
}
const single = (title: string) => ({ file: 'spec/operator-restricted.test.ts', title })

const scoped = (removes: string, edits: Mutant['edits'], caughtBy: Mutant['caughtBy'] = everyOperation): Mutant => ({
  rule: 'operator.scope',
  removes,
  edits,
  caughtBy,
})

export const scopeMutants: Mutant[] = [
  scoped('every read and write of a restricted principal passes a rule', [
    edit('  if (restriction === null) return call(args)', '  if (restriction !== undefined) return call(args)'),
  ]),
  scoped(
    'a trial of a tool with a price is refused',
    [edit('      if (scope && Math.max(toolbox.price(tool), saved.price(tool)) > 0) throw hasPrice()\n')],
    single('operator.scope: a restricted token tries no tool that has a price'),
  ),
  scoped('a turn of another owner does not exist', [
    edit('scope: ofTurn((requestId) => requestId, undefined),', "scope: () => 'pass',", { at: 'operator.scope' }),
  ]),
  scoped('a conversation of another owner does not exist', [
    edit('scope: ofConversation(({ conversationId }) => conversationId, undefined),', "scope: () => 'pass',"),
  ]),
  scoped('a list of turns is of one owner', [edit('scope: byFilter,', "scope: () => 'pass',", { at: 'operator.scope-2' })]),
  scoped('a report of usage is of one owner', [edit('scope: byFilter,', "scope: () => 'pass',", { at: 'operator.scope-3' })]),
  scoped('a filter by another owner finds nothing', [edit("asked === undefined ? own : ''", 'asked === undefined ? own : asked')]),
  scoped('an agent is created for its own owner', [
    edit("scope: ofOwner(({ ownerId }) => ownerId, { kind: 'owner_not_found' }),", "scope: () => 'pass',"),
  ]),
  scoped('an API key of another owner does not change', [edit("scope: ofKey((id) => id, 'not_found'),", "scope: () => 'pass',")]),
  scoped('a webhook of another owner does not change', [
    edit(
      'write(changeWebhook, { scope: ({ scope }, id, change) => instead(id, change, scope),',
      "write(changeWebhook, { scope: () => 'pass',",
    ),
  ]),
  scoped('a text of another owner is not erased', [
    edit("(await calls.sees('conversation', id)) ? erasure", '(await Promise.resolve(true)) ? erasure'),
  ]),
  scoped('a turn of another owner is not followed', [
    edit("    if (!(await calls.sees('turn', requestId))) throw new ApiError('not_found', 'This turn does not exist.')\n"),
  ]),
  scoped(
    'another agent of the same owner does not exist',
    [edit('(scope.agentId === null || found.agentId === scope.agentId)', 'Boolean(found)')],
    everyOperationOfAgent,
  ),
  scoped(
    'one who is restricted to an agent does not see its owner',
    [edit('scope.agentId === null && id === scope.ownerId', 'id === scope.ownerId')],
    { file: 'spec/operator-scope.test.ts', title: 'restricted to an agent, a read finds its own' },
  ),
  scoped(
    'usage names no owner to one who is restricted to an agent',
    [edit('scope.agentId === null ? lines : lines.map', 'scope.ownerId !== null ? lines : lines.map')],
    single('usage by owner names the owner, except'),
  ),
  scoped(
    'a webhook is not for another owner',
    [edit('(!owner || (within && ownerId !== within.ownerId))', '!owner')],
    single('a webhook of a restricted token is for its owner or its agent'),
  ),
  scoped(
    'a webhook is not for everyone',
    [edit('  if (!within || agentId !== null) return undefined\n', '  if (!within || agentId !== undefined) return undefined\n')],
    single('a webhook of a restricted token is for its owner or its agent'),
  ),
  scoped(
    'deliveries of events of another owner are not shown',
    [
      edit(
        '(${values.add(before.createdAt)}, ${values.add(before.id)}) ${isWithin(within, values)}',
        '(${values.add(before.createdAt)}, ${values.add(before.id)})',
      ),
    ],
    single('a webhook that was for everyone shows'),
  ),
  scoped('an error lists no providers', [edit("  if (scope) return ''\n")], single('errors about an unknown provider name no provider')),
]
