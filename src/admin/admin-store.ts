/**
 * The store for the admin API: the reads and writes outside the turn path that are declared for it. Every write has an author, so that none is
 * missing in the audit log (`audit`). Everything that a restricted principal reads or writes passes the rule of its operation
 * (`operator.scope`), and every text of an end user that is read has an entry in the audit log before it is returned (`audit.reads`), so that no
 * route and no function of this module has to see to it. An unavailable store becomes a 503 `service_unavailable`.
 */
import { ApiError } from '../errors.ts'
import { ofInstallation } from '../operators/principal.ts'
import type { Scope } from '../operators/principal.ts'
import { boundMethods, callMethod } from '../store/methods.ts'
import type { Methods } from '../store/methods.ts'
import type { Actor, Author, Reading } from '../store/queries/audit.ts'
import type { AdminRead, AdminWrite } from '../store/queries/operation.ts'
import { adminReads } from '../store/queries/reads.ts'
import type { AdminReads, Reads } from '../store/queries/reads.ts'
import type { Restriction, Rule } from '../store/queries/scope.ts'
import { adminWrites } from '../store/queries/writes.ts'
import type { AdminWrites, Writes } from '../store/queries/writes.ts'
import type { Sql } from '../store/sql.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'

export type AdminStore = { read: Methods<AdminReads>; write: Methods<AdminWrites> }

/** One request of the admin API: who makes it, and the store that it has. `scope` null: it sees everything. */
export type AdminRequest = {
  actor: Actor
  /** The operator who makes the request. Undefined if it is not an operator. */
  operatorId: string | undefined
  scope: Scope | null
  store: AdminStore
  /** The store without a restriction, for sign-ins and the account of an operator. Both belong to the installation. */
  accounts: AdminStore
  sees: Restriction['sees']
}

/** The functions of the admin API as they are implemented: each gets the request first. */
export type PerRequest<Calls> = {
  [Name in keyof Calls]: Calls[Name] extends (...args: infer Args) => infer Result
    ? (request: AdminRequest, ...args: Args) => Result
    : never
}

type AnyRead = AdminRead<(sql: Sql, ...args: unknown[]) => unknown>
type AnyWrite = AdminWrite<(sql: Sql, ...args: unknown[]) => unknown>
type Access = { actor: Actor; restriction: Restriction | null }
type Options = { store: Pick<Store, 'read' | 'writeAs'>; authorOf(actor: Actor): Author }

/** The only place where the admin API reads and writes. Its methods are made once, so that a request costs almost nothing. */
export function createRequests({ store, authorOf }: Options): (actor: Actor, scope: Scope | null) => AdminRequest {
  const readsFor = boundMethods<Access, Methods<AdminReads>>(adminReads, async ({ actor, restriction }, name, args) => {
    const { scope, readings } = adminReads[name] as unknown as AnyRead
    const result = await decide(restriction, scope, args, (allowed) => callMethod<Reads>(store.read, name, allowed))
    for (const one of readings?.(result, ...args) ?? []) await record(actor, one)
    return result
  })
  const writesFor = boundMethods<Access, Methods<AdminWrites>>(adminWrites, ({ actor, restriction }, name, args) => {
    const { scope } = adminWrites[name] as unknown as AnyWrite
    return decide(restriction, scope, args, (allowed) => callMethod<Writes>(store.writeAs(authorOf(actor)), name, allowed))
  })

  async function record(actor: Actor, one: Reading): Promise<void> {
    // Most readings are another page or poll, and a read waits for no other write.
    if (await store.read.wasReadRecently(one, actor).catch(refuseUnavailable)) return
    await store.writeAs(authorOf(actor)).recordReading(one).catch(refuseUnavailable)
  }

  const storeFor = (access: Access): AdminStore => ({ read: readsFor(access), write: writesFor(access) })
  return (actor, scope) => {
    const restriction = scope && restrictionOf(store, scope)
    return {
      actor,
      operatorId: actor.who === 'operator' ? actor.id : undefined,
      scope,
      store: storeFor({ actor, restriction }),
      accounts: storeFor({ actor, restriction: null }),
      sees: async (kind, id) => restriction === null || restriction.sees(kind, id),
    }
  }
}

const restrictionOf = (store: Options['store'], scope: Scope): Restriction => ({
  scope,
  seesOwner: (id) => scope.agentId === null && id === scope.ownerId,
  async sees(kind, id) {
    const found = await store.read.findScopeOf(kind, id).catch(refuseUnavailable)
    return found?.ownerId === scope.ownerId && (scope.agentId === null || found.agentId === scope.agentId)
  },
})

async function decide(
  restriction: Restriction | null,
  rule: Rule<unknown[], unknown>,
  args: unknown[],
  call: (args: unknown[]) => Promise<unknown>,
): Promise<unknown> {
  if (restriction === null) return call(args).catch(refuseUnavailable)
  const decision = await rule(restriction, ...args)
  if (decision === 'pass') return call(args).catch(refuseUnavailable)
  if (decision === 'refuse') throw new ApiError('forbidden', ofInstallation)
  if ('answer' in decision) return decision.answer
  const result = await call(decision.args).catch(refuseUnavailable)
  return decision.show ? decision.show(result) : result
}

function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreUnavailable ? new ApiError('service_unavailable') : error
}
