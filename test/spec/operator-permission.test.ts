/**
 * What each role may do, over every route of the admin API from its OpenAPI document: a principal without the permission gets 403 before
 * anything is read or stored, and one with it does not. docs/decisions/0040-operators.md
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fastify } from 'fastify'
import { attachNeeds, routeNeeds } from '../../src/http/admin/permissions.ts'
import type { RouteNeeds } from '../../src/http/admin/permissions.ts'
import { permissionsOf, roles } from '../../src/operators/principal.ts'
import type { ExtraPermission, Permission, Role } from '../../src/operators/principal.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

const app = await startTestApp()
after(() => app.close())
const document = await app.made('GET', '/openapi.json')
const operations = Object.entries(document['paths'] as Json).flatMap(([path, methods]) =>
  Object.keys(methods as Json).map((method) => ({
    method: method.toUpperCase(),
    path: path.slice('/admin/v1'.length),
    route: `${method.toUpperCase()} ${path.slice('/admin/v1'.length).replaceAll(/\{(\w+)\}/g, ':$1')}`,
  })),
)

const makeToken = async (role: Role, more: Json = {}): Promise<string> =>
  (await app.made('POST', '/tokens', { name: role, role, ...more }))['token'] as string

/** `id` is unknown, so that a request that is let through changes nothing. */
const fill = (path: string): string => path.replaceAll(/\{\w+\}/g, 'unknown')
async function statusOf(token: string, { method, path }: { method: string; path: string }): Promise<[number, string | undefined]> {
  const body = method === 'POST' || method === 'PUT' || method === 'PATCH' ? { 'not-a-field': 1 } : undefined
  const { status, json } = await app.admin(method, fill(path), body, { authorization: `Bearer ${token}` })
  return [status, json['error']?.code]
}

const allows = (route: RouteNeeds, may: ReadonlySet<Permission>, isRestricted: boolean): boolean => {
  if (typeof route === 'string') return true
  if (route.installation && isRestricted) return false
  return 'needs' in route ? route.needs.every((one) => may.has(one)) : route.oneOf.some((one) => may.has(one))
}

void test('operator.permission: the table has exactly the routes of the OpenAPI document', () => {
  const described = operations.map(({ route }) => route)
  const listed = Object.keys(routeNeeds).filter((route) => route !== 'GET /openapi.json')
  assert.deepEqual(listed.toSorted(), described.toSorted())
  assert.ok(described.length >= 86, `${described.length} routes`)
})

void test('operator.permission: a route without an entry stops the start of the server', async () => {
  const server = fastify()
  await assert.rejects(async () => {
    await server.register(
      async (scope) => {
        attachNeeds(scope)
        scope.get('/owners', () => 'known')
        scope.get('/forgotten', () => 'unknown')
      },
      { prefix: '/admin/v1' },
    )
    await server.ready()
  }, /no entry for GET \/forgotten/)
})

const grants: [string, Role, ExtraPermission[]][] = [
  ...(Object.keys(roles) as Role[]).map((role): [string, Role, ExtraPermission[]] => [role, role, []]),
  ['viewer with conversations', 'viewer', ['conversations']],
  ['billing with conversations', 'billing', ['conversations']],
]
for (const restricted of [false, true]) {
  for (const [name, role, permissions] of grants) {
    void test(`operator.permission: ${name}${restricted ? ', restricted to an owner' : ''} gets 403 exactly where the table says so`, async () => {
      const token = await makeToken(role, { permissions, ...(restricted ? { owner_id: app.caller.ownerId } : {}) })
      const may = permissionsOf(role, permissions)
      // Open routes need no permission, and some of them slow down guesses.
      const asked = operations.filter(({ route }) => routeNeeds[route] !== 'open')
      const before = await app.query('select count(*) as entries from audit')
      for (const operation of asked) {
        const [status, code] = await statusOf(token, operation)
        const expected = allows(routeNeeds[operation.route]!, may, restricted)
        assert.equal(status !== 403, expected, `${operation.route}: ${status} ${code}`)
        if (!expected) assert.equal(code, 'forbidden', operation.route)
        else assert.notEqual(status, 401, operation.route)
      }
      assert.deepEqual(await app.query('select count(*) as entries from audit'), before, 'nothing was changed')
    })
  }
}

void test('operator.permission: 403 names the missing permission', async () => {
  const headers = { authorization: `Bearer ${await makeToken('viewer')}` }
  const { json } = await app.admin('POST', '/owners', { name: 'x' }, headers)
  assert.equal(json['error'].message, 'This needs the permission billing.')
  const either = await app.admin('PATCH', `/agents/${app.caller.agentId}`, { name: 'x' }, headers)
  assert.equal(either.json['error'].message, 'This needs the permission agents or billing.')
})

void test('operator.permission: fields that need more than their route', async () => {
  const by = async (role: Role, more?: Json) => ({ authorization: `Bearer ${await makeToken(role, more)}` })
  const [billing, editor, restricted] = [await by('billing'), await by('editor'), await by('editor', { owner_id: app.caller.ownerId })]
  const agent = `/agents/${app.caller.agentId}`
  const refused = async (headers: Record<string, string>, method: string, path: string, body: Json, message: RegExp): Promise<void> => {
    const { status, json } = await app.admin(method, path, body, headers)
    assert.equal(status, 403, JSON.stringify(json))
    assert.match(json['error'].message, message)
  }
  await app.made('PATCH', agent, { spend_limits: [{ scope: 'agent', usd: '5', window: 'day' }] }, billing)
  await refused(billing, 'PATCH', agent, { spend_limits: [], name: 'x' }, /permission agents/)
  const [provider] = (await app.made('GET', '/providers'))['data'] as Json[]
  await app.made('PATCH', `/providers/${provider!['id']}`, { name: provider!['name'] }, editor)
  await refused(editor, 'PATCH', `/providers/${provider!['id']}`, { api_key: 'k' }, /provider_keys/)
  await refused(editor, 'PATCH', `/providers/${provider!['id']}`, { base_url: 'http://127.0.0.1:1/v1' }, /provider_keys/)
  const price = { prompt_usd_per_million: '0', completion_usd_per_million: '0' }
  await refused(restricted, 'PATCH', agent, { price }, /restricted to one owner, and may not set price/)
  const tool = {
    type: 'http',
    name: 'look_up',
    description: 'd',
    method: 'GET',
    url: 'https://example.com/',
    parameters: { type: 'object' },
  }
  await refused(restricted, 'PATCH', agent, { tools: [{ ...tool, price_usd: '0' }] }, /may not set price_usd of a tool/)
  await app.made('PATCH', agent, { tools: [{ ...tool, price_usd: '0.01' }] })
  await refused(restricted, 'PATCH', agent, { tools: [tool] }, /may not replace the tools/)
})

void test('operator.permission: without `conversations`, the list of turns has no words of a provider, which may quote a message', async () => {
  app.model.script({ status: 400, body: 'no answer to CANARY-QUOTED' })
  await app.chat('CANARY-QUOTED', { user: 'quoted' })
  const causeFor = async (role: Role, more: Json = {}): Promise<Json> => {
    const authorization = `Bearer ${await makeToken(role, more)}`
    const { json } = await app.admin('GET', '/turns?status=released&limit=1', undefined, { authorization })
    return json['data'][0].failure
  }
  assert.match((await causeFor('viewer', { permissions: ['conversations'] }))['cause'], /CANARY-QUOTED/)
  for (const role of ['viewer', 'billing'] as const) {
    const { cause, cause_kind: kind } = await causeFor(role)
    assert.deepEqual([cause, kind], [null, 'provider_400'])
  }
})
