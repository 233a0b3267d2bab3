/**
 * How a read or write of the admin API is decided for a restricted principal (`operator.scope`). A rule is declared with its operation. It is
 * given the arguments of a call. It changes them, answers without the store as for something that does not exist, or refuses. It never
 * throws: what a refusal means to a caller is decided by the admin API.
 */

/** What a restricted principal sees. `agentId` null: everything of the owner, otherwise only this agent of it. */
export type Within = { ownerId: string; agentId: string | null }

export type ScopedKind = 'agent' | 'api_key' | 'conversation' | 'turn'

export type Restriction = {
  scope: Within
  /** Whether this is the owner that the principal is restricted to. One that is restricted to an agent does not see its owner. */
  seesOwner(id: string): boolean
  /** Whether the row exists and belongs to what the principal is restricted to. */
  sees(kind: ScopedKind, id: string): Promise<boolean>
}

/** `pass`: the call is allowed as it is. `refuse`: it concerns others, too. `show`: what the principal gets of the result. */
type Decision<Args, Result> = 'pass' | 'refuse' | { args: Args; show?: (result: Result) => Result | Promise<Result> } | { answer: Result }
export type Rule<Args extends unknown[], Result> = (
  restriction: Restriction,
  ...args: Args
) => Decision<Args, Result> | Promise<Decision<Args, Result>>

/** The call is made with these arguments. */
export const instead = <Args extends unknown[]>(...args: Args): { args: Args } => ({ args })

/** For what belongs to no owner and everyone may know. */
export const unrestricted = (): 'pass' => 'pass'

/** For what concerns the whole installation. */
export const installation = (): 'refuse' => 'refuse'

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

/** The first argument of the call is a filter. */
export const byFilter = <Given extends Filter, Rest extends unknown[]>(
  { scope }: Restriction,
  given: Given,
  ...rest: Rest
): { args: [Given, ...Rest] } => instead(within(scope, given), ...rest)

/** The first argument of the call has the scope. */
export const withinScope = <Given extends { within?: Within | undefined }, Rest extends unknown[]>(
  { scope }: Restriction,
  given: Given,
  ...rest: Rest
): { args: [Given, ...Rest] } => instead({ ...given, within: scope }, ...rest)

/** Both the given filter and the scope. Nothing matches a filter outside of the scope, because no ID is empty. */
export function within<Given extends Filter>(scope: Within, given: Given): Given {
  const both = (asked: string | undefined, own: string | null): string | undefined =>
    own === null || asked === own ? asked : asked === undefined ? own : ''
  return { ...given, ownerId: both(given.ownerId, scope.ownerId), agentId: both(given.agentId, scope.agentId) }
}
