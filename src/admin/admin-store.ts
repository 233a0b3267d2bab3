/**
 * The store for the admin API: reads and writes outside the turn path. Every write has an author, so that none is missing in the audit log.
 * Everything that a restricted principal reads or writes passes a rule of scope/ (`operator.scope`), so that no route and no function of this
 * module has to check it. An unavailable store becomes a 503 `service_unavailable`.
 */
import { ApiError } from '../errors.ts'
import type { Scope } from '../operators/principal.ts'
import type { Author } from '../store/queries/audit.ts'
import { reads } from '../store/queries/reads.ts'
import type { Reads } from '../store/queries/reads.ts'
import { writes } from '../store/queries/writes.ts'
import type { Writes } from '../store/queries/writes.ts'
import { callMethod, methodsOf } from '../store/methods.ts'
import type { Methods } from '../store/methods.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import type { Restriction, Rule, Rules } from './scope/rules.ts'
import { scopedReads } from './scope/scoped-reads.ts'
import { scopedWrites } from './scope/scoped-writes.ts'

export type AdminStore = Pick<Store, 'read' | 'write'>

/** The only place where the admin API reads and writes (`audit`, `operator.scope`). */
export function adminStore(store: Pick<Store, 'read' | 'writeAs'>, newAuthor: () => Author, restriction: Restriction | null): AdminStore {
  const read = methodsOf<Reads>(reads, (name, args) => callMethod<Reads>(store.read, name, args).catch(refuseUnavailable))
  const write = methodsOf<Writes>(writes, (name, args) =>
    callMethod<Writes>(store.writeAs(newAuthor()), name, args).catch(refuseUnavailable),
  )
  if (restriction === null) return { read, write }
  return {
    read: restricted<Reads>(reads, read, scopedReads, restriction),
    write: restricted<Writes>(writes, write, scopedWrites, restriction),
  }
}

export function restrictionOf(store: Pick<Store, 'read'>, scope: Scope): Restriction {
  return {
    scope,
    seesOwner: (id) => scope.agentId === null && id === scope.ownerId,
    async sees(kind, id) {
      const found = await store.read.findScopeOf(kind, id).catch(refuseUnavailable)
      return found?.ownerId === scope.ownerId && (scope.agentId === null || found.agentId === scope.agentId)
    },
  }
}

const restricted = <Operations>(
  names: Record<keyof Operations, unknown>,
  methods: Methods<Operations>,
  rules: Rules<Operations>,
  restriction: Restriction,
): Methods<Operations> =>
  methodsOf<Operations>(names, async (name, args) => {
    const decision = await (rules[name] as Rule<unknown[], unknown>)(restriction, ...args)
    if (decision === 'pass') return callMethod<Operations>(methods, name, args)
    if ('answer' in decision) return decision.answer
    const result = await callMethod<Operations>(methods, name, decision.args)
    return decision.show ? decision.show(result) : result
  })

function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreUnavailable ? new ApiError('service_unavailable') : error
}
