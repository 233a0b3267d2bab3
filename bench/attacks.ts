/**
 * The attacks of the scenario `fairness`, declared: who sends them, what the limits of the API let through, and the worst legal body. Add an
 * attack as an entry of `attacks`.
 */
import { randomUUID } from 'node:crypto'
import type { Sending, Shot } from './attack-process.ts'
import { marks } from './call.ts'
import type { Server, Tenant } from './scenario.ts'

export type Attack = {
  /** The first columns of the table. */
  by: 'API key' | 'viewer token' | 'editor token' | 'not signed in'
  name: string
  /** In a quick run, a twentieth of it. */
  sending: Sending
  /** In each round, just before it is sent, so that each has its own key with all of its rate limit. */
  prepare(target: Victim): Promise<Shot[]>
}

/** `slowModel`: the name of a provider that writes small chunks until the others have been measured. */
export type Victim = { server: Server; slowModel: string }

// A usual rate limit of a key.
const perMinute = 120
// What an attack prepares, while nothing else runs.
const answersWithinMs = 30_000
const json = { 'content-type': 'application/json' }

/** 70,000 names: 741 kB, below the limit of a body, and the most work for whoever reads each of them. */
const manyNames = (names = 70_000): Record<string, number> =>
  Object.fromEntries(Array.from({ length: names }, (_, place) => [`n${place}`, 0]))

const burst = (requests: number, inProgress = 16): Sending => ({ kind: 'requests', requests, inProgress })

async function keyOf({ admin }: Server, { agentId }: Tenant, limit = perMinute): Promise<Record<string, string>> {
  const made = await admin('POST', `/agents/${agentId}/keys`, { permission: 'full', mcp: true, rate_limit: { limit, window_seconds: 60 } })
  return { ...json, authorization: `Bearer ${String(made['api_key'])}` }
}

async function tokenOf({ admin }: Server, role: 'viewer' | 'editor', permissions: string[] = []): Promise<Record<string, string>> {
  const made = await admin('POST', '/tokens', { name: `bench ${randomUUID()}`, role, permissions })
  return { authorization: `Bearer ${String(made['token'])}` }
}

/** With an own key and a body that every request repeats; each has its own idempotency key. */
const byKey =
  (path: (tenant: Tenant) => string, body: (tenant: Tenant) => object, headers: Record<string, string> = {}): Attack['prepare'] =>
  async ({ server }) => {
    const tenant = await server.makeTenant()
    const own = await keyOf(server, tenant)
    const text = JSON.stringify(body(tenant))
    return [{ method: 'POST', path: path(tenant), headers: { ...own, ...headers, 'idempotency-key': marks.key }, body: text }]
  }

const mcpOfNames = (names: number): Attack['prepare'] =>
  byKey(
    () => '/mcp',
    () => ({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: manyNames(names) } }),
    { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
  )

const viewer =
  (shot: (target: Victim) => Shot, permissions: string[] = []): Attack['prepare'] =>
  async (target) => {
    const { headers, ...rest } = shot(target)
    return [{ ...rest, headers: { ...headers, ...(await tokenOf(target.server, 'viewer', permissions)) } }]
  }

const searchOf = ({ server }: Victim, body: object): Shot => ({
  method: 'POST',
  path: `/admin/v1/agents/${server.tenant.agentId}/search`,
  headers: json,
  body: JSON.stringify(body),
})
const get = (path: string, headers: Record<string, string> = {}): Shot => ({ method: 'GET', path, headers })

async function followsOf({ server, slowModel }: Victim): Promise<Shot[]> {
  const tenant = await server.makeTenant({ model: `${slowModel}/model` })
  const own = await keyOf(server, tenant, 1_000)
  const response = await fetch(`${server.base}/v1/agents/${tenant.agentId}/chat`, {
    method: 'POST',
    headers: { ...own, 'idempotency-key': randomUUID(), prefer: 'respond-async' },
    body: JSON.stringify({ external_user_id: 'attacker', message: 'Write for a long time.' }),
    signal: AbortSignal.timeout(answersWithinMs),
  })
  const turn = (await response.json()) as { request_id: string }
  if (response.status !== 202) throw new Error(`the turn to follow was not accepted: ${JSON.stringify(turn)}`)
  return [get(`/v1/agents/${tenant.agentId}/turns/${turn.request_id}/stream`, own)]
}

async function uploadsOf({ server }: Victim): Promise<Shot[]> {
  const { agentId } = await server.makeTenant()
  const boundary = 'bench-boundary'
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="page.html"\r\ncontent-type: text/html\r\n\r\n`
  const body = `${head}${'<div>'.repeat(400_000)}\r\n--${boundary}--\r\n`
  const headers = { ...(await tokenOf(server, 'editor')), 'content-type': `multipart/form-data; boundary=${boundary}` }
  return [{ method: 'POST', path: `/admin/v1/agents/${agentId}/documents`, headers, body }]
}

/** A browser's first step, which anyone can take, gives a valid state and its cookie; only the code is made up. */
async function madeUpCodes({ server }: Victim, many: number): Promise<Shot[]> {
  const shots: Shot[] = []
  for (let place = 0; place < many; place++) {
    const started = await fetch(`${server.base}/admin/v1/session/oidc`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(answersWithinMs),
    })
    const state = new URL(started.headers.get('location') ?? '', server.base).searchParams.get('state')
    if (state === null) throw new Error(`no sign-in with the identity provider: ${started.status} ${started.headers.get('location')}`)
    const cookie = started.headers.getSetCookie()[0]!.split(';')[0]!
    shots.push(get(`/admin/v1/session/oidc/callback?code=made-up-${place}&state=${encodeURIComponent(state)}`, { cookie }))
  }
  return shots
}

const codes = 300

export const attacks: Attack[] = [
  {
    by: 'API key',
    name: 'chat, 70,000 names',
    sending: burst(perMinute),
    prepare: byKey(
      ({ agentId }) => `/v1/agents/${agentId}/chat`,
      () => ({ external_user_id: 'attacker', message: 'hello', ...manyNames() }),
    ),
  },
  {
    by: 'API key',
    name: 'Chat Completions, 70,000 names',
    sending: burst(perMinute),
    prepare: byKey(
      () => '/v1/chat/completions',
      ({ agentId }) => ({ model: agentId, user: 'attacker', messages: [{ role: 'user', content: 'hello' }], metadata: manyNames() }),
    ),
  },
  {
    by: 'API key',
    name: 'Chat Completions, 5,000 messages',
    sending: burst(perMinute),
    prepare: byKey(
      () => '/v1/chat/completions',
      ({ agentId }) => ({
        model: agentId,
        user: 'attacker',
        messages: Array.from({ length: 5_000 }, () => ({ role: 'user', content: 'hello' })),
      }),
    ),
  },
  {
    by: 'API key',
    name: 'Responses, 70,000 names',
    sending: burst(perMinute),
    prepare: byKey(
      () => '/v1/responses',
      ({ agentId }) => ({ model: agentId, user: 'attacker', input: 'hello', metadata: manyNames() }),
    ),
  },
  {
    by: 'API key',
    name: 'MCP, 70,000 names in _meta',
    sending: burst(perMinute),
    prepare: mcpOfNames(70_000),
  },
  {
    by: 'API key',
    name: 'MCP, 200 names in _meta',
    sending: burst(perMinute),
    prepare: mcpOfNames(200),
  },
  { by: 'API key', name: '600 follows of a turn', sending: { kind: 'held', requests: 600, unfinished: false }, prepare: followsOf },
  { by: 'editor token', name: 'HTML of 400,000 <div>', sending: burst(20, 4), prepare: uploadsOf },
  {
    by: 'viewer token',
    name: 'search, 70,000 names',
    sending: burst(perMinute),
    prepare: viewer((target) => searchOf(target, { query: 'hello', ...manyNames() })),
  },
  {
    by: 'viewer token',
    name: '600 unfinished bodies',
    sending: { kind: 'held', requests: 600, unfinished: true },
    prepare: viewer((target) => searchOf(target, { query: 'a '.repeat(500_000) })),
  },
  {
    by: 'viewer token',
    name: 'search for 10,000 words',
    sending: burst(300),
    prepare: viewer((target) =>
      searchOf(target, {
        query: Array.from({ length: 10_000 }, (_, place) => place.toString(36))
          .join(' ')
          .slice(0, 32_000),
      }),
    ),
  },
  {
    by: 'viewer token',
    name: 'exports of an end user',
    sending: burst(300),
    prepare: viewer(
      ({ server }) => get(`/admin/v1/agents/${server.tenant.agentId}/end-users/export?external_user_id=${exported}`),
      ['conversations'],
    ),
  },
  { by: 'viewer token', name: 'OpenAPI document', sending: burst(300), prepare: viewer(() => get('/admin/v1/openapi.json')) },
  {
    by: 'not signed in',
    name: 'sign-in with a password',
    sending: burst(300),
    prepare: () =>
      Promise.resolve(
        Array.from({ length: 300 }, (_, place) => ({
          method: 'POST' as const,
          path: '/admin/v1/session',
          headers: json,
          body: JSON.stringify({ email: `person-${place}@bench.example`, password: 'x'.repeat(1_000) }),
        })),
      ),
  },
  { by: 'not signed in', name: 'made-up OIDC codes', sending: burst(codes), prepare: (target) => madeUpCodes(target, codes) },
  {
    by: 'not signed in',
    name: '1,000 connections, pipelined',
    sending: { kind: 'pipelined', connections: 1_000, each: 24 },
    prepare: ({ server }) =>
      Promise.resolve([
        {
          method: 'POST',
          path: `/v1/agents/${server.tenant.agentId}/chat`,
          headers: { ...json, authorization: 'Bearer none' },
          body: '{}',
        },
      ]),
  },
]

/** The end user of the first tenant whose data the viewer exports; the scenario gives them turns. */
export const exported = 'exported'

/** A twentieth, for a quick run. */
export function lessOf(sending: Sending): Sending {
  const less = (many: number): number => Math.ceil(many / 20)
  switch (sending.kind) {
    case 'requests':
    case 'held':
      return { ...sending, requests: less(sending.requests) }
    case 'pipelined':
      return { ...sending, connections: less(sending.connections) }
  }
}
