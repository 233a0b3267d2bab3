/** docs/cookbook/stripe.md: its program between a fake Stripe and the real service, with the official SDK. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { layOut, runProgram } from '../support/cookbook-program.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

type MeterEvent = { identifier: string; customer: string; value: string; timestamp: number }

/**
 * The part of Stripe that the program calls, as docs.stripe.com/api/billing/meter-event/create and docs.stripe.com/api/idempotent_requests
 * describe it. An idempotency key returns its first response; an identifier counts once.
 */
class FakeStripe {
  readonly events: MeterEvent[] = []
  requests = 0
  /** Answers the next request with 500, or cuts its connection after the event was counted. */
  next: ('fail' | 'cut')[] = []
  readonly #answers = new Map<string, { body: string; status: number; answer: string }>()
  readonly #server = createServer((request, response) => void this.#serve(request, response))

  async start(t: TestContext): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    t.after(() => {
      this.#server.closeAllConnections()
      this.#server.close()
    })
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Resolves when an event has been counted. */
  counted = (): Promise<unknown> => once(this.#server, 'counted')

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests++
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += piece
    const send = (status: number, answer: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    const refuse = (status: number, message: string): void => send(status, { error: { type: 'invalid_request_error', message } })
    if (request.headers.authorization !== 'Bearer sk_test_1') return refuse(401, 'Invalid API Key provided')
    if (request.method !== 'POST' || request.url !== '/v1/billing/meter_events') return refuse(404, 'Unrecognized request URL')
    const next = this.next.shift()
    if (next === 'fail') return send(500, { error: { type: 'api_error', message: 'An error occurred' } })
    const key = String(request.headers['idempotency-key'])
    const known = this.#answers.get(key)
    if (known && known.body !== body) return refuse(400, 'Keys for idempotent requests can only be used with the same parameters')
    if (known) return void response.writeHead(known.status, { 'content-type': 'application/json' }).end(known.answer)
    const form = new URLSearchParams(body)
    const event = {
      identifier: form.get('identifier') ?? '',
      customer: form.get('payload[stripe_customer_id]') ?? '',
      value: form.get('payload[value]') ?? '',
      timestamp: Number(form.get('timestamp')),
    }
    const age = Date.now() / 1000 - event.timestamp
    if (form.get('event_name') !== 'turnkeep_usage') return refuse(400, 'No meter with this event_name')
    if (!/^\d{1,15}$/.test(event.value)) return refuse(400, 'The value in the event payload can have at most 15 digits')
    if (!(age < 35 * 86_400 && age > -300)) return refuse(400, 'The timestamp is out of range')
    if (event.identifier === '' || event.identifier.length > 100) return refuse(400, 'Invalid identifier')
    if (!this.events.some(({ identifier }) => identifier === event.identifier)) this.events.push(event)
    const payload = { stripe_customer_id: event.customer, value: event.value }
    const { identifier, timestamp } = event
    const object = { object: 'billing.meter_event', created: Math.floor(Date.now() / 1000), event_name: 'turnkeep_usage', livemode: false }
    const answer = JSON.stringify({ ...object, identifier, timestamp, payload })
    this.#answers.set(key, { body, status: 200, answer })
    this.#server.emit('counted')
    if (next === 'cut') return void request.socket.destroy()
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
  }
}

const units = (usd: string): bigint => BigInt(usd.replace(/^-/, '').replace('.', ''))

void test('cookbook/stripe: each charge is one meter event, however often the program runs and whenever it dies', async (t) => {
  await using app = await startTestApp()
  const other = await app.makeCaller()
  for (let turn = 0; turn < 4; turn++) await app.chat('hi', { user: `user-${turn}` })
  const stripe = new FakeStripe()
  const { folder, remove } = layOut('stripe.md', ['stripe'])
  t.after(remove)
  const environment = {
    ADMIN_URL: app.adminUrl,
    TURNKEEP_ADMIN_TOKEN: adminToken,
    STRIPE_API_KEY: 'sk_test_1',
    STRIPE_URL: await stripe.start(t),
  }
  const run = (killWhen?: Promise<unknown>) => runProgram(folder, 'report.mts', environment, killWhen)
  const charges = async (): Promise<Json[]> =>
    (await app.made('GET', '/ledger?limit=100')).data.filter(({ kind }: Json) => kind === 'charge')
  const assertReported = async (): Promise<void> => {
    const expected = (await charges()).map((entry) => ({
      identifier: entry.id,
      customer: entry.owner_id === other.ownerId ? 'cus_2' : 'cus_1',
      value: String(units(entry.amount_usd)),
      timestamp: Math.floor(Date.parse(entry.created_at) / 1000),
    }))
    const byId = (one: MeterEvent, another: MeterEvent): number => (one.identifier < another.identifier ? -1 : 1)
    assert.deepEqual(stripe.events.toSorted(byId), expected.toSorted(byId))
  }
  writeFileSync(join(folder, 'customers.json'), JSON.stringify({ [app.caller.ownerId]: 'cus_1' }))

  // It is killed when the second event has arrived, before it can note it.
  const killed = await run(stripe.counted().then(() => stripe.counted()))
  assert.equal(killed.code, null)
  const before = stripe.events.length
  assert.ok(before >= 2, String(before))
  // An answer is lost, and a request fails for a moment: the SDK repeats them.
  stripe.next = ['cut', 'fail']
  const first = await run()
  assert.deepEqual([first.code, first.said.includes('Reported')], [0, true], first.said)
  await assertReported()

  const { requests } = stripe
  const again = await run()
  assert.deepEqual([again.code, again.said], [0, 'Reported 0 charges.\n'])
  assert.equal(stripe.requests, requests)

  // An owner without a customer is reported when it has one.
  await app.chat('hi', { caller: other })
  await app.chat('hi', { user: 'user-0' })
  const unknown = await run()
  assert.equal(unknown.code, 1)
  assert.match(unknown.said, new RegExp(`Reported 1 charges\\.\\nNo customer in customers\\.json: ${other.ownerId}\\n`))
  writeFileSync(join(folder, 'customers.json'), JSON.stringify({ [app.caller.ownerId]: 'cus_1', [other.ownerId]: 'cus_2' }))
  assert.equal((await run()).code, 0)
  await assertReported()
  const total = (await app.made('GET', '/usage?group_by=owner')).data.reduce((sum: bigint, line: Json) => sum + units(line.charged_usd), 0n)
  assert.equal(
    stripe.events.reduce((sum, { value }) => sum + BigInt(value), 0n),
    total,
  )
})

void test('cookbook/stripe: a refused key ends the program with the words of Stripe, and nothing is noted', async (t) => {
  await using app = await startTestApp()
  await app.chat('hi')
  const stripe = new FakeStripe()
  const { folder, remove } = layOut('stripe.md', ['stripe'])
  t.after(remove)
  writeFileSync(join(folder, 'customers.json'), JSON.stringify({ [app.caller.ownerId]: 'cus_1' }))
  const environment = { ADMIN_URL: app.adminUrl, TURNKEEP_ADMIN_TOKEN: adminToken, STRIPE_URL: await stripe.start(t) }
  const refused = await runProgram(folder, 'report.mts', { ...environment, STRIPE_API_KEY: 'sk_test_2' })
  assert.equal(refused.code, 1)
  assert.match(refused.said, /Invalid API Key provided/)
  const good = await runProgram(folder, 'report.mts', { ...environment, STRIPE_API_KEY: 'sk_test_1' })
  assert.deepEqual([good.code, good.said, stripe.events.length], [0, 'Reported 1 charges.\n', 1])
})
