/** docs/cookbook/webhooks.md: its receivers, with deliveries of the real service. Each handles an event once and refuses forgeries. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { layOut, startProgram } from '../support/cookbook-program.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { startReceiver } from '../support/webhook-receiver.ts'
import type { Received } from '../support/webhook-receiver.ts'

const clients = join(import.meta.dirname, '../../clients/python')
const noPython = spawnSync('python3', ['--version']).error !== undefined && 'needs python3: apt-get install python3'

/** One real delivery, and the secret that signed it. */
async function deliver(): Promise<{ app: TestApp; received: Received; secret: string; end(): Promise<void> }> {
  const receiver = await startReceiver()
  const app = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: receiver.host } })
  const { secret } = await app.made('POST', '/webhooks', { url: receiver.url('/'), events: ['*'] })
  await app.chat('Hi', { user: 'ann' })
  const [received] = await receiver.got('/', 1)
  return {
    app,
    received: received!,
    secret,
    async end() {
      await app.close()
      await receiver[Symbol.asyncDispose]()
    },
  }
}

const post = async (url: string, { body, headers }: Received, changes: Json = {}): Promise<number> => {
  const names = ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature']
  const sent = Object.fromEntries(names.map((name) => [name, headers[name]!]))
  return (await fetch(url, { method: 'POST', body: changes['body'] ?? body, headers: { ...sent, ...changes['headers'] } })).status
}

async function checkReceiver(url: string, received: Received): Promise<void> {
  assert.equal(await post(url, received), 204)
  assert.equal(await post(url, received), 204, 'the same event again')
  assert.equal(await post(url, received, { body: received.body.replace('ann', 'ben') }), 400)
  assert.equal(await post(url, received, { headers: { 'webhook-id': 'evt_other' } }), 400)
  const old = String(Number(received.headers['webhook-timestamp']) - 3600)
  assert.equal(await post(url, received, { headers: { 'webhook-timestamp': old } }), 400)
}

void test('cookbook/webhooks: the Express server verifies a delivery and handles it once', async (t) => {
  const { received, secret, end } = await deliver()
  t.after(end)
  const { folder, remove } = layOut('webhooks.md')
  t.after(remove)
  const DATABASE = join(folder, 'orders.db')
  const program = await startProgram(folder, 'server.mts', { WEBHOOK_SECRET: secret, DATABASE })
  t.after(() => program.kill())
  await checkReceiver(`${program.url}/turnkeep`, received)
  const db = new DatabaseSync(DATABASE, { readOnly: true })
  const rows = db.prepare('select * from replies').all()
  db.close()
  const { request_id, usage } = received.json.data
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [{ request_id, customer: 'ann', charged_usd: usage.charged_usd }],
  )
})

void test('cookbook/webhooks: the route handler for Next.js verifies a delivery and handles it once', async (t) => {
  const { received, secret, end } = await deliver()
  t.after(end)
  const { folder, remove } = layOut('webhooks.md')
  t.after(remove)
  process.env['WEBHOOK_SECRETS'] = `whsec_dGhlIG5leHQgc2VjcmV0 ${secret}`
  const { POST } = (await import(join(folder, 'route.mts'))) as { POST(request: Request): Promise<Response> }
  const said: unknown[] = []
  t.mock.method(console, 'log', (type: unknown) => void said.push(type))
  t.mock.method(globalThis, 'fetch', (url: string, init: RequestInit) => POST(new Request(url, init)))
  await checkReceiver('http://next/turnkeep', received)
  assert.deepEqual(said, ['turn.completed'])
})

void test('cookbook/webhooks: the Python server verifies a delivery and handles it once', { skip: noPython }, async (t) => {
  const { received, secret, end } = await deliver()
  t.after(end)
  const { folder, remove } = layOut('webhooks.md')
  t.after(remove)
  const DATABASE = join(folder, 'orders.db')
  const environment = { WEBHOOK_SECRET: secret, DATABASE, PYTHONPATH: clients, PYTHONDONTWRITEBYTECODE: '1' }
  const program = await startProgram(folder, 'receiver.py', environment, 'python3')
  t.after(() => program.kill())
  await checkReceiver(program.url, received)
  const db = new DatabaseSync(DATABASE, { readOnly: true })
  const rows = db.prepare('select * from events').all()
  db.close()
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [{ type: 'turn.completed', request_id: received.json.data['request_id'] }],
  )
})
