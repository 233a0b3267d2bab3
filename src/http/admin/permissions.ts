/**
 * Which permission each route of the admin API needs. This is the only place that decides it: a route without an entry stops the start of the
 * server (`operator.permission`). docs/operate/operators.md, "Who may do what", is made from this table.
 */
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../errors.ts'
import { ofInstallation } from '../../operators/principal.ts'
import type { Permission, Principal } from '../../operators/principal.ts'

/**
 * `open`: without a sign-in. `signed-in`: every operator and token. Otherwise all of `needs`, or one of `oneOf`. `installation`: concerns
 * the whole installation, so principals that are restricted to an owner are refused.
 */
export type RouteNeeds =
  | 'open'
  | 'signed-in'
  | { needs: readonly Permission[]; installation?: true }
  | { oneOf: readonly Permission[]; installation?: true }

const needs = (...permissions: Permission[]): RouteNeeds => ({ needs: permissions })
const installation = (...permissions: Permission[]): RouteNeeds => ({ needs: permissions, installation: true })

export const routeNeeds: Record<string, RouteNeeds> = {
  'GET /session/options': 'open',
  'POST /session': 'open',
  'POST /session/passkey/options': 'open',
  'POST /session/passkey': 'open',
  'GET /session/oidc': 'open',
  'GET /session/oidc/callback': 'open',
  'POST /session/invitation/look-up': 'open',
  'POST /session/invitation': 'open',
  'POST /session/recovery': 'open',
  'GET /session': 'signed-in',
  'DELETE /session': 'signed-in',
  'GET /me': 'signed-in',
  'PATCH /me': 'signed-in',
  'PUT /me/password': 'signed-in',
  'GET /me/passkeys': 'signed-in',
  'POST /me/passkeys/options': 'signed-in',
  'POST /me/passkeys': 'signed-in',
  'DELETE /me/passkeys/:id': 'signed-in',
  'GET /me/sessions': 'signed-in',
  'DELETE /me/sessions/:id': 'signed-in',
  'GET /openapi.json': 'signed-in',

  'GET /owners': needs('read'),
  'POST /owners': installation('billing'),
  'GET /owners/:id': needs('read'),
  // An operator of one customer must not change what that customer owes.
  'PATCH /owners/:id': installation('billing'),
  'GET /owners/:id/ledger': needs('read'),
  'POST /owners/:id/ledger': installation('billing'),
  'GET /ledger': needs('read'),
  'GET /usage': needs('read'),

  'GET /providers': installation('read'),
  'POST /providers': installation('provider_keys'),
  'GET /providers/:id': installation('read'),
  // A new address or key needs `provider_keys` as well (providers.ts).
  'PATCH /providers/:id': installation('providers'),
  'DELETE /providers/:id': installation('provider_keys'),
  'POST /providers/:id/test': installation('providers'),
  'GET /providers/:id/models': installation('providers'),
  'GET /models/price': needs('read'),

  'GET /agents': needs('read'),
  'POST /agents': needs('agents'),
  'GET /agents/:id': needs('read'),
  // `billing` may change the spend limits only (agents.ts).
  'PATCH /agents/:id': { oneOf: ['agents', 'billing'] },
  'DELETE /agents/:id': needs('agents'),
  'GET /agents/:id/versions': needs('read'),
  'GET /agents/:id/prices': needs('read'),
  // An earlier version has its own price, which an operator of one customer must not choose.
  'POST /agents/:id/rollback': installation('agents'),
  'POST /agents/:id/tools/refresh': needs('agents'),
  'POST /agents/:id/tools/try': needs('agents'),
  'GET /agents/:id/documents': needs('read'),
  'POST /agents/:id/documents': needs('agents'),
  'GET /agents/:id/documents/:document_id': needs('read'),
  'PUT /agents/:id/documents/:document_id': needs('agents'),
  'DELETE /agents/:id/documents/:document_id': needs('agents'),
  'GET /agents/:id/documents/:document_id/chunks': needs('read'),
  'POST /agents/:id/search': needs('read'),
  'POST /agents/:id/playground': needs('agents'),
  // No owner is charged for it, like a rerun.
  'POST /agents/:id/preview': installation('agents', 'conversations'),

  'GET /agents/:id/spending': needs('read'),
  'GET /agents/:id/end-users': needs('read'),
  'GET /agents/:id/end-users/detail': needs('read'),
  'GET /agents/:id/end-users/export': needs('conversations'),
  'DELETE /agents/:id/end-users': needs('erase'),
  'GET /agents/:id/end-users/limits': needs('read'),
  'PUT /agents/:id/end-users/limits': { oneOf: ['agents', 'billing'] },
  'DELETE /agents/:id/end-users/limits': { oneOf: ['agents', 'billing'] },

  'GET /agents/:id/keys': needs('read'),
  'POST /agents/:id/keys': needs('keys'),
  'PATCH /keys/:id': needs('keys'),
  'DELETE /keys/:id': needs('keys'),
  'POST /keys/:id/rotate': needs('keys'),

  'GET /conversations': needs('read'),
  'GET /conversations/:id': needs('read'),
  'GET /conversations/:id/messages': needs('conversations'),
  'DELETE /conversations/:id': needs('erase'),
  'GET /turns': needs('read'),
  'GET /turns/:request_id': needs('conversations'),
  'GET /turns/:request_id/trace': needs('conversations'),
  'GET /turns/:request_id/stream': needs('conversations'),
  'POST /turns/:request_id/cancel': needs('agents'),
  // No owner is charged for a rerun, so one of a customer would cost you.
  'POST /turns/:request_id/rerun': installation('agents', 'conversations'),
  // The feedback is shown in the response and may replace the words of an end user.
  'PUT /turns/:request_id/feedback': needs('agents', 'conversations'),
  'DELETE /turns/:request_id/feedback': needs('agents', 'conversations'),
  'GET /feedback': needs('conversations'),

  // Messages in deliveries need `conversations` as well (webhooks.ts).
  'GET /webhooks': needs('read'),
  'POST /webhooks': needs('webhooks'),
  'GET /webhooks/:id': needs('read'),
  'PATCH /webhooks/:id': needs('webhooks'),
  'DELETE /webhooks/:id': needs('webhooks'),
  'POST /webhooks/:id/rotate-secret': needs('webhooks'),
  'POST /webhooks/:id/test': needs('webhooks'),
  'GET /webhooks/:id/deliveries': needs('read'),
  'GET /webhooks/:id/deliveries/:delivery_id': needs('read'),
  'POST /webhooks/:id/deliveries/:delivery_id/retry': needs('webhooks'),
  'POST /webhooks/:id/replay': needs('webhooks'),

  'GET /attention': needs('read'),
  'GET /status': installation('read'),
  'POST /verify': installation('system'),
  'GET /audit': installation('audit'),

  'GET /operators': installation('operators'),
  'POST /operators': installation('operators'),
  'GET /operators/:id': installation('operators'),
  'PATCH /operators/:id': installation('operators'),
  'DELETE /operators/:id': installation('operators'),
  'POST /operators/:id/invite': installation('operators'),
  'DELETE /operators/:id/sessions': installation('operators'),
  'GET /tokens': installation('operators'),
  'POST /tokens': installation('operators'),
  'GET /tokens/:id': installation('operators'),
  'DELETE /tokens/:id': installation('operators'),
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set from the table above for every route of the admin API. */
    needs?: RouteNeeds
  }
}

/** Gives each route that is registered on `app` after this call its entry of the table. Throws an Error for a route without one. */
export function attachNeeds(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const path = route.url.slice(route.prefix.length)
    const methods = [route.method].flat().map((method) => (method === 'HEAD' ? 'GET' : method))
    for (const method of methods) {
      const found = routeNeeds[`${method} ${path}`]
      if (found === undefined) throw new Error(`src/http/admin/permissions.ts has no entry for ${method} ${path}`)
      route.config = { ...route.config, needs: found }
    }
  })
}

/** Throws ApiError `forbidden`, which names what is missing. */
export function checkNeeds(principal: Principal, route: RouteNeeds): void {
  if (typeof route === 'string') return
  if ('needs' in route) for (const permission of route.needs) refuseWithout(principal, permission)
  else if (!route.oneOf.some((one) => principal.permissions.has(one)))
    throw new ApiError('forbidden', `This needs the permission ${route.oneOf.join(' or ')}.`)
  if (route.installation && principal.scope !== null) throw new ApiError('forbidden', ofInstallation)
}

/** For what depends on the body of a request. Throws ApiError `forbidden`. */
export function refuseWithout({ permissions }: Principal, permission: Permission): void {
  if (!permissions.has(permission)) throw new ApiError('forbidden', `This needs the permission ${permission}.`)
}
