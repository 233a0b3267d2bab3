/**
 * The rules by which reads and writes of a restricted principal are decided (`operator.scope`). A rule is given the arguments of a call. It
 * changes them, answers without the store as for something that does not exist, or refuses. scoped-reads.ts and scoped-writes.ts have one
 * rule for each name.
 */
import { ApiError } from '../../errors.ts'
import { ofInstallation } from '../../operators/principal.ts'
import type { Scope } from '../../operators/principal.ts'
import type { Sql } from '../../store/sql.ts'
import type { ScopedKind } from '../../store/queries/scope-of.ts'

export type Restriction = {
  scope: Scope
  /** Whether this is the owner that the principal is restricted to. One that is restricted to an agent does not see its owner. */
  seesOwner(id: string): boolean
  /** Whether the row exists and belongs to what the principal is restricted to. */
  sees(kind: ScopedKind, id: string): Promise<boolean>
}

/** `pass`: the call is allowed as it is. `show`: what the principal gets of the result. */
type Decision<Args, Result> = 'pass' | { args: Args; show?: (result: Result) => Result | Promise<Result> } | { answer: Result }
export type Rule<Args extends unknown[], Result> = (
  restriction: Restriction,
  ...args: Args
) => Decision<Args, Result> | Promise<Decision<Args, Result>>

/** One rule for each operation: the compiler refuses a missing one. */
export type Rules<Operations> = {
  [Name in keyof Operations]: Operations[Name] extends (sql: Sql, ...args: infer Args) => infer Result ? Rule<Args, Awaited<Result>> : never
}

/** For what belongs to no owner and everyone may know. */
export const unrestricted = (): 'pass' => 'pass'

/** Throws ApiError `forbidden`. */
export const refused = (): never => {
  throw new ApiError('forbidden', ofInstallation)
}

/** What a call may do with one thing that it names. `answer`: that of a call that names something that does not exist. */
type Named<Result> = 'pass' | { answer: Result }

const ofRow =
  (kind: ScopedKind) =>
  <Args extends unknown[], Result>(idOf: (...args: Args) => string, missing: NoInfer<Result>) =>
  async (restriction: Restriction, ...args: Args): Promise<Named<Result>> =>
    (await restriction.sees(kind, idOf(...args))) ? 'pass' : { answer: missing }

export const ofAgent = ofRow('agent')
export const ofKey = ofRow('api_key')
export const ofConversation = ofRow('conversation')
export const ofTurn = ofRow('turn')

/** The call names an owner. */
export const ofOwner =
  <Args extends unknown[], Result>(idOf: (...args: Args) => string, missing: NoInfer<Result>) =>
  (restriction: Restriction, ...args: Args): Named<Result> =>
    restriction.seesOwner(idOf(...args)) ? 'pass' : { answer: missing }

type Filter = { ownerId?: string | undefined; agentId?: string | undefined }

/** Both the given filter and the scope. Nothing matches a filter outside of the scope, because no ID is empty. */
export function within<Given extends Filter>(scope: Scope, given: Given): Given {
  const both = (asked: string | undefined, own: string | null): string | undefined =>
    own === null || asked === own ? asked : asked === undefined ? own : ''
  return { ...given, ownerId: both(given.ownerId, scope.ownerId), agentId: both(given.agentId, scope.agentId) }
}
