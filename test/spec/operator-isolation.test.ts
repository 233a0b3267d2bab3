/**
 * `operator.scope`: a principal that is restricted to an owner, or to one agent of it, sees and changes nothing else. Every operation of
 * /admin/v1/openapi.json is asked about another owner's data, about things that do not exist and about its own data. An operation without a
 * recipe fails the test.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { recipes } from '../support/isolation-recipes.ts'
import type { Request } from '../support/isolation-recipes.ts'
import { allRows, differences, makeScene, unknownIds } from '../support/isolation-scene.ts'
import type { Ids, Party } from '../support/isolation-scene.ts'
import { dereferenced } from '../support/dereferenced.ts'
import { adminToken } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

const scene = await makeScene()
after(() => scene.close())
const { app, x, sibling, y } = scene
const description = dereferenced(await app.made('GET', '/openapi.json'))

type Operation = { name: string; method: string; path: string; described: Json }
const operations = Object.entries<Json>(description.paths).flatMap(([path, item]) =>
  Object.entries<Json>(item).map(([method, described]): Operation => {
    const below = path.replace('/admin/v1', '')
    return { name: `${method.toUpperCase()} ${below}`, method: method.toUpperCase(), path: below, described }
  }),
)
/** Sign-ins: they have no principal, so nothing about them can be restricted. */
const isOpen = ({ described }: Operation): boolean => Array.isArray(described.security) && described.security.length === 0
/** In the order of the recipes. */
const inOrder = Object.keys(recipes).flatMap((name) => operations.filter((one) => one.name === name))

type Asked = { status: number; headers: string; text: string }
const volatile = new Set(['x-ratelimit-remaining', 'x-ratelimit-reset', 'date', 'x-request-id', 'connection', 'keep-alive'])

async function ask(token: string, { method, path }: Operation, request: Request): Promise<Asked> {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(request.path?.[name] ?? `no ${name}`))
  const query = new URLSearchParams(request.query).toString()
  const response = await fetch(`${app.adminUrl}/admin/v1${filled}${query && `?${query}`}`, {
    method,
    redirect: 'manual',
    headers: { authorization: `Bearer ${token}`, ...(request.body ? { 'content-type': 'application/json' } : {}), ...request.headers },
    ...(request.body ? { body: JSON.stringify(request.body) } : {}),
  })
  const requestId = response.headers.get('x-request-id') ?? 'none'
  const text = (await response.text()).replaceAll(requestId, 'request-id')
  const headers = [...response.headers].filter(([name]) => !volatile.has(name)).map((pair) => pair.join(': '))
  return { status: response.status, headers: headers.join('\n'), text }
}

/** Everything that a request says. A response may repeat it. */
const sentIn = ({ path, query, body, headers }: Request): string[] =>
  [path, query, body, headers].flatMap((part) => Object.values<unknown>(part ?? {}).filter((value) => typeof value === 'string'))

/** The marks that a response contains and the request did not. */
function leaksIn({ headers, text }: Asked, request: Request, marks: string[]): string[] {
  let left = `${headers}\n${text}`
  for (const sent of sentIn(request).toSorted((a, b) => b.length - a.length)) left = left.replaceAll(sent, '')
  return marks.filter((mark) => left.includes(mark))
}

/** The response with the name of each ID instead of the ID. */
function unnamed({ status, headers, text }: Asked, ids: Ids): string {
  let left = `${status}\n${headers}\n${text}`
  for (const [name, id] of Object.entries(ids)) left = left.replaceAll(id, `<${name}>`)
  return left
}

type Case = {
  title: string
  own: Party
  foreign: Party[]
  agentId: string | null
  /** Texts and IDs that no response may contain. */
  hidden: string[]
  /** Operations about its own data whose status is, or may be, another one than a success. */
  statuses: Record<string, number[]>
}

const ofInstallation = [
  'GET /providers',
  'POST /providers',
  'GET /providers/{id}',
  'PATCH /providers/{id}',
  'DELETE /providers/{id}',
  'POST /providers/{id}/test',
  'GET /providers/{id}/models',
  'POST /owners',
  'PATCH /owners/{id}',
  'POST /owners/{id}/ledger',
  // An earlier version has another price.
  'POST /agents/{id}/rollback',
  // No one pays for it.
  'POST /turns/{request_id}/rerun',
  'POST /agents/{id}/preview',
  'GET /status',
  'POST /verify',
  'GET /audit',
  'GET /operators',
  'POST /operators',
  'GET /operators/{id}',
  'PATCH /operators/{id}',
  'DELETE /operators/{id}',
  'POST /operators/{id}/invite',
  'DELETE /operators/{id}/sessions',
  'GET /tokens',
  'POST /tokens',
  'GET /tokens/{id}',
  'DELETE /tokens/{id}',
]
const statuses: Case['statuses'] = {
  ...Object.fromEntries(ofInstallation.map((name) => [name, [403]])),
  // A token has no session and no account.
  ...Object.fromEntries(Object.keys(recipes).flatMap((name) => (/ \/(session$|me\/)/.test(name) ? [[name, [404, 409, 422]]] : []))),
  'PATCH /me': [404],
}
const ofProviders = ['canary-provider', 'canary.example']
const cases: Case[] = [
  {
    title: 'an agent of an owner',
    own: x,
    foreign: [sibling, y],
    agentId: x.ids.agent,
    hidden: [...ofProviders, ...sibling.marks, ...y.marks, ...y.ownerMarks, x.ownerMarks[0]!],
    statuses: {
      ...statuses,
      'GET /owners/{id}': [404],
      'GET /owners/{id}/ledger': [404],
      'GET /ledger': [200, 404],
      'POST /agents': [422],
      // A webhook of the owner, which gets events of its other agents, too.
      'GET /webhooks/{id}': [200, 404],
      'GET /webhooks/{id}/deliveries': [200, 404],
      'POST /webhooks': [201, 422],
    },
  },
  { title: 'an owner', own: x, foreign: [y], agentId: null, hidden: [...ofProviders, ...y.marks, ...y.ownerMarks], statuses },
]

const tokenFor = async ({ own, agentId }: Case): Promise<string> =>
  (
    await app.made('POST', '/tokens', {
      name: 'restricted',
      role: 'admin',
      owner_id: own.ids.owner,
      ...(agentId ? { agent_id: agentId } : {}),
    })
  ).token

void test('operator.scope: every operation of the admin API has a recipe that uses each of its parameters', () => {
  assert.deepEqual(
    operations.filter((one) => !isOpen(one)).flatMap(({ name }) => (recipes[name] ? [] : [name])),
    [],
    'without a recipe',
  )
  assert.equal(inOrder.length, Object.keys(recipes).length, 'a recipe without an operation')
  const harmless = ['limit', 'cursor', 'from', 'to', 'status', 'rating', 'bucket', 'group_by', 'sort', 'window', 'after']
  for (const { name, path } of operations.filter(isOpen)) assert.match(path, /^\/session(\/|$)/, name)
  for (const { name, described } of inOrder) {
    const requests = recipes[name]!(y.ids, x.ids)
    for (const { in: place, name: parameter } of (described.parameters ?? []) as Json[])
      if (place === 'path' || (place === 'query' && !harmless.includes(parameter)))
        assert.ok(
          requests.some((one) => one[place as 'path' | 'query']?.[parameter] !== undefined),
          `${name}: ${parameter}`,
        )
    const body = JSON.stringify(described.requestBody ?? {})
    for (const field of [
      'owner_id',
      'agent_id',
      'key_id',
      'external_user_id',
      'conversation_id',
      'request_id',
      'document_id',
      'webhook_id',
    ])
      if (body.includes(`"${field}":`))
        assert.ok(
          requests.some((one) => one.body?.[field] !== undefined),
          `${name}: ${field} in the body`,
        )
  }
})

for (const one of cases) {
  const { title, own, foreign, hidden } = one

  void test(`operator.scope: restricted to ${title}, no response says anything about another's data, and nothing of it changes`, async (t) => {
    const token = await tokenFor(one)
    let requests = 0
    const before = await allRows(app)
    for (const other of foreign) {
      const [known, unknown] = [other.ids, unknownIds(other.ids)]
      // The sibling has the same owner.
      if (known.owner === own.ids.owner) Object.assign(unknown, { owner: own.ids.owner })
      for (const operation of inOrder) {
        const [foreignRequests, unknownRequests] = [known, unknown].map((ids) => recipes[operation.name]!(ids, own.ids))
        for (const [index, request] of foreignRequests!.entries()) {
          const answer = await ask(token, operation, request)
          const what = `${operation.name} ${JSON.stringify(request)}: ${answer.status} ${answer.text.slice(0, 500)}`
          assert.ok(answer.status < 500, what)
          assert.deepEqual(leaksIn(answer, request, hidden), [], what)
          const same = await ask(token, operation, unknownRequests![index]!)
          assert.equal(unnamed(answer, known), unnamed(same, unknown), what)
          requests += 2
        }
      }
    }
    assert.deepEqual(differences(before, await allRows(app)), [], 'rows that have changed')
    const readings = await app.query(`select subject_id from audit where verb = 'read'`)
    assert.deepEqual(
      readings.map(({ subject_id: id }) => String(id)).filter((id) => hidden.includes(id)),
      [],
      'readings in the audit log',
    )
    t.diagnostic(`${inOrder.length} operations, ${requests} requests`)
  })

  void test(`operator.scope: restricted to ${title}, a cursor of a list of everything shows nothing of others`, async (t) => {
    const token = await tokenFor(one)
    let lists = 0
    for (const operation of inOrder) {
      const isList = ((operation.described.parameters ?? []) as Json[]).some(({ name }) => name === 'cursor')
      if (!isList || operation.method !== 'GET') continue
      for (const request of recipes[operation.name]!(own.ids, own.ids)) {
        const paged = { ...request, query: { ...request.query, limit: '1' } }
        const { text, status } = await ask(adminToken, operation, paged)
        const cursor = status === 200 && text.startsWith('{') ? (JSON.parse(text) as Json).next_cursor : undefined
        if (typeof cursor !== 'string') continue
        const next = { ...request, query: { ...request.query, cursor } }
        const answer = await ask(token, operation, next)
        assert.deepEqual(leaksIn(answer, next, hidden), [], `${operation.name} ${JSON.stringify(next)}: ${answer.text.slice(0, 500)}`)
        lists++
      }
    }
    assert.ok(lists > 10, `${lists} lists`)
    t.diagnostic(`${lists} cursors`)
  })
}

for (const one of cases) {
  const { title, own, hidden } = one

  void test(`operator.scope: restricted to ${title}, its own data is shown and can be changed, and nothing else is in the responses`, async (t) => {
    const token = await tokenFor(one)
    const foreignRows = async (): Promise<string[]> =>
      (await allRows(app)).filter((row) => [...y.marks, ...y.ownerMarks].some((mark) => row.includes(mark)))
    const before = await foreignRows()
    assert.ok(before.length > 50, `${before.length} rows`)
    const unseen: string[] = []
    // One of an agent sees no other agent. The owner's test follows and deletes.
    const ids = one.agentId === null ? own.ids : { ...own.ids, spareAgent: own.ids.agent }
    for (const operation of inOrder.filter(({ name }) => one.agentId === null || !name.startsWith('DELETE'))) {
      const wanted = one.statuses[operation.name]
      let isShown = false
      for (const request of recipes[operation.name]!(ids, ids)) {
        const answer = await ask(token, operation, request)
        const what = `${operation.name} ${JSON.stringify(request)}: ${answer.status} ${answer.text.slice(0, 500)}`
        if (wanted === undefined) assert.ok(answer.status >= 200 && answer.status < 300, what)
        else assert.ok(wanted.includes(answer.status), what)
        assert.deepEqual(leaksIn(answer, request, hidden), [], what)
        isShown ||= [...own.marks, ...own.ownerMarks].some((mark) => answer.text.includes(mark))
      }
      if (operation.method === 'GET' && wanted === undefined && !isShown) unseen.push(operation.name)
    }
    const withoutNames = ['GET /agents/{id}/prices', 'GET /models/price']
    assert.deepEqual(unseen.toSorted(), [...withoutNames, ...(one.agentId ? ['GET /owners'] : [])].toSorted())
    assert.deepEqual(differences(before, await foreignRows()), [], 'rows of another owner that have changed')
    t.diagnostic(`${inOrder.length} operations`)
  })
}
