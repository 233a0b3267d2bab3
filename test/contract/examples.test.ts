/**
 * Every example in both descriptions is true: it matches the schema beside it, every operation of the public API responds to its own
 * examples with a success, and every example of a request body of the admin API is accepted by a real server. test/spec/openapi.test.ts
 * checks that the examples of failures are the table of errors.ts; here it is checked for both descriptions, word by word.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { WebAuthnEmulator } from 'nid-webauthn-emulator'
import { failures } from '../../src/errors.ts'
import { createSignedTokens } from '../../src/operators/signed-tokens.ts'
import { compileClosed } from '../support/answer-check-schema.ts'
import { dereferenced } from '../support/dereferenced.ts'
import { describeBoth } from '../support/answer-check-descriptions.ts'
import { adminToken, read, startTestApp } from '../support/test-app.ts'
import type { Answer, Json } from '../support/test-app.ts'

const served = await describeBoth()
const descriptions = { public: dereferenced(served.public), admin: dereferenced(served.admin) }
const consoleOrigin = 'https://console.acme.example'
const app = await startTestApp({ env: { TURNKEEP_CONSOLE_URL: consoleOrigin } })
after(() => app.close())

/** An example in a description, with the schema beside it. */
type Example = { at: string; schema: Json; value: unknown }

/** `properties` may be a name of a property; what is within an example is data. */
function* examplesOf(node: Json, at: string): Generator<Example> {
  if (Array.isArray(node['examples'])) for (const value of node['examples']) yield { at, schema: node, value }
  const { schema } = node
  if (schema && node['example'] !== undefined) yield { at, schema, value: node['example'] }
  if (schema && node['examples'] && !Array.isArray(node['examples']))
    for (const [name, { value }] of Object.entries<Json>(node['examples'])) yield { at: `${at} ${name}`, schema, value }
  for (const [name, child] of Object.entries<any>(node))
    if (child !== null && typeof child === 'object' && !['example', 'examples', 'enum', 'required'].includes(name))
      yield* examplesOf(child, `${at}/${name}`)
}

for (const [name, document] of Object.entries(descriptions))
  void test(`contract: every example of the ${name} description matches its schema`, () => {
    const found = [...examplesOf(document, name)]
    assert.ok(found.length > 40, `${found.length} examples`)
    for (const { at, schema, value } of found) assert.deepEqual(compileClosed(schema, document)(value), [], at)
  })

for (const [name, document] of Object.entries(descriptions))
  void test(`contract: every example of a failure of the ${name} description agrees with the failure table`, () => {
    let count = 0
    for (const { at, value } of examplesOf(document['paths'], name)) {
      const { error } = (value ?? {}) as { error?: { code: keyof typeof failures; message: string } | null }
      if (!error) continue
      assert.equal(error.message, failures[error.code].message, at)
      count++
    }
    assert.ok(count > 40, `${count} examples`)
  })

type Operation = { method: string; path: string; operation: Json }

const operationsOf = (document: Json): Operation[] =>
  Object.entries<Json>(document['paths']).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )

function bodyExample({ operation }: Operation): unknown {
  const media: Json | undefined = operation['requestBody']?.content['application/json']
  if (!media) return undefined
  return media['example'] ?? media['schema'].examples[0]
}

const parameterExample = (parameter: Json): unknown =>
  parameter['example'] ?? parameter['schema'].examples?.[0] ?? parameter['schema'].default

/** Calls it with the examples of its parameters and its body; `given` replaces ids and secrets, which are the server's own. */
async function call(
  one: Operation,
  token: string,
  given: Record<string, string>,
  body = bodyExample(one),
  cookie?: string,
): Promise<Answer> {
  const parameters: Json[] = one.operation['parameters'] ?? []
  const values = parameters.map((each): [Json, string | undefined] => {
    const value = given[each['name']] ?? parameterExample(each)
    assert.ok(value !== undefined || !each['required'], `${one.path}: ${each['name']} has no example`)
    return [each, value === undefined ? undefined : String(value)]
  })
  const of = (place: string): [name: string, value: string][] =>
    values.flatMap(([{ in: at, name }, value]) => (at === place && value !== undefined ? [[String(name), value]] : []))
  const path = of('path').reduce((text, [name, value]) => text.replace(`{${name}}`, encodeURIComponent(value)), one.path)
  const query = String(new URLSearchParams(of('query')))
  return read(
    await fetch(`${app.url}${path}${query && `?${query}`}`, {
      method: one.method,
      headers: {
        ...(cookie === undefined ? { authorization: `Bearer ${token}` } : { cookie, 'x-turnkeep-console': '1' }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...Object.fromEntries(of('header')),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  )
}

function succeeded({ operation, method, path }: Operation, { status, text }: Answer): void {
  assert.ok(status < 300 && operation['responses'][status], `${method} ${path}: ${status} ${text}`)
}

void test('contract: every operation of the public API responds to its own examples with a success', async () => {
  const { agentId, apiKey } = app.caller
  const given: Record<string, string> = { agent_id: agentId }
  for (const one of operationsOf(descriptions.public)) {
    const answer = await call(one, apiKey, given)
    succeeded(one, answer)
    given['conversation_id'] ??= answer.json['conversation_id']
    given['request_id'] ??= answer.json['request_id']
  }
})

void test('contract: every example of a request body of the admin API is accepted by a real server', async () => {
  const { ownerId } = app.caller
  const operations = operationsOf(descriptions.admin).filter(({ operation }) => operation['requestBody'])
  const sent = new Set<string>()
  const named = (id: string): Operation => operations.find(({ operation }) => operation['operationId'] === id)!

  async function answerOf(id: string, given: Record<string, string>, body?: unknown, cookie?: string): Promise<Answer> {
    const one = named(id)
    const answer = await call(one, adminToken, given, body ?? bodyExample(one), cookie)
    succeeded(one, answer)
    sent.add(id)
    return answer
  }
  const send = async (id: string, given: Record<string, string> = {}, body?: unknown): Promise<Json> =>
    (await answerOf(id, given, body)).json

  const owner = await send('createOwner')
  await send('changeOwner', { id: owner['id'] })
  await send('addLedgerEntry', { id: owner['id'] })
  const provider = await send('createProvider')
  await send('changeProvider', { id: provider['id'] })
  // A test must not call the provider's own address: its example is sent to the scripted one.
  const scripted = (await app.made('GET', '/providers'))['data'].find(({ name }: Json) => name === 'scripted')
  assert.equal((await send('testProvider', { id: scripted.id }))['ok'], true)

  const webhook = await send('createWebhook')
  await send('changeWebhook', { id: webhook['id'] })
  await send('rotateWebhookSecret', { id: webhook['id'] })
  // Its example is a name that does not exist, so the test says so.
  assert.equal((await send('testWebhook', { id: webhook['id'] }))['ok'], false)

  const agent = await send('createAgent', {}, { ...(bodyExample(named('createAgent')) as Json), owner_id: ownerId })
  const id: string = agent['id']
  await send('changeAgent', { id })
  await send('rollBackAgent', { id })
  await send('refreshTools', { id })
  await send('tryTool', { id })
  await send('putEndUserLimits', { id })
  const key = await send('createKey', { id })
  await send('rotateKey', { id: key['id'] })
  await send('changeKey', { id: key['id'] })
  const document = await send('createDocument', { id })
  await send('searchDocuments', { id })
  await send('replaceDocument', { id, document_id: document['id'] })
  // Replies of the scripted model, which its own agent uses.
  await send('playInPlayground', { id: app.caller.agentId })
  await send('previewAgent', { id: app.caller.agentId })
  const [{ request_id: turn }] = (await app.made('GET', '/turns'))['data']
  await send('cancelTurn', { request_id: turn })
  await send('putFeedback', { request_id: turn })
  const [delivery] = (await app.made('GET', `/webhooks/${webhook['id']}/deliveries`))['data']
  await send('retryDelivery', { id: webhook['id'], delivery_id: delivery['id'] })
  // Not its own example, which will be more than 30 days ago.
  await send('replayDeliveries', { id: webhook['id'] }, { from: new Date(Date.now() - 60_000).toISOString(), to: '2100-01-01' })
  await send('rerunTurn', { request_id: turn })
  await send('verifyStore')
  await sendAsOperator()

  /** With the links, credentials and cookies of this server in place of those of the examples. */
  async function sendAsOperator(): Promise<void> {
    const withOwn = (name: string, own: Json): Json => ({ ...(bodyExample(named(name)) as Json), ...own })
    const operator = await send('createOperator')
    const { invitation_url: url } = await send('inviteOperator', { id: operator['id'] })
    const link = { token: new URL(url).hash.slice(1) }
    await send('lookUpInvitation', {}, link)
    await send('acceptInvitation', {}, withOwn('acceptInvitation', link))
    const signedIn = await answerOf('signIn', {})
    const cookie = signedIn.headers.getSetCookie()[0]!.split(';')[0]!
    const own = async (name: string, body?: unknown): Promise<Json> => (await answerOf(name, {}, body, cookie)).json
    await own('changeMe')
    await own('changePassword')
    const device = new WebAuthnEmulator()
    const created = device.createJSON(consoleOrigin, (await own('startNewPasskey')) as never)
    await own('addPasskey', withOwn('addPasskey', { response: created }))
    const response = device.getJSON(consoleOrigin, (await send('startPasskeySignIn')) as never)
    await send('signInWithPasskey', {}, { response })
    const token = `svc_recover_${createSignedTokens([app.encryptionKey]).sign('recovery', Date.now() + 60_000)}`
    await send('recover', {}, withOwn('recover', { token, email: 'grace@acme.example' }))
    await send('changeOperator', { id: operator['id'] })
    // Not its own example, which will have passed.
    await send('createToken', {}, withOwn('createToken', { expires_at: '2100-01-01' }))
  }

  assert.deepEqual(
    operations.map(({ operation }) => operation['operationId']).filter((name) => !sent.has(name)),
    [],
    'these were not sent',
  )
})

void test('contract: every example of a file is accepted as multipart/form-data', async () => {
  const withFiles = operationsOf(descriptions.admin).filter(({ operation }) => operation['requestBody']?.content['multipart/form-data'])
  assert.equal(withFiles.length, 2)
  const { agentId } = app.caller
  const present = await app.made('POST', `/agents/${agentId}/documents`, { title: 't', text: 'x' })
  for (const one of withFiles) {
    const { title, file } = one.operation['requestBody'].content['multipart/form-data'].example
    const form = new FormData()
    form.set('title', title)
    form.set('file', new Blob([file]), 'shipping.md')
    const path = one.path.replace('{id}', agentId).replace('{document_id}', present['id'])
    const headers = { authorization: `Bearer ${adminToken}` }
    succeeded(one, await read(await fetch(`${app.url}${path}`, { method: one.method, headers, body: form })))
  }
})
