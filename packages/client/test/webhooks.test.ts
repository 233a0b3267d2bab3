/** `verifyWebhook`: what it accepts and what it refuses. The signatures are those of the specification of Standard Webhooks. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { TurnkeepError, verifyWebhook, WebhookVerificationError } from '../src/client.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const other = 'whsec_dGhpcyBpcyBhbm90aGVyIHNlY3JldCBrZXkhISE='
const body = '{"type":"turn.completed","timestamp":"2026-11-21T14:11:58.332Z","data":{"request_id":"r","reply":"Grüße 😀"}}'
const seconds = (): number => Math.floor(Date.now() / 1000)

function signed(by = secret, timestamp = seconds(), id = 'evt_1_turn_completed', text = body): Record<string, string> {
  const key = Buffer.from(by.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${text}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1,${signature}` }
}
const refused = (promise: Promise<unknown>, message: RegExp) =>
  assert.rejects(promise, (error: unknown) => error instanceof WebhookVerificationError && message.test(error.message))

test('a signed body is its event, as text or bytes, with the headers of Node, of fetch and in any case', async () => {
  const event = { id: 'evt_1_turn_completed', ...JSON.parse(body) }
  const headers = signed()
  assert.deepEqual(await verifyWebhook(body, headers, secret), event)
  assert.deepEqual(await verifyWebhook(new TextEncoder().encode(body), new Headers(headers), [secret]), event)
  const shouted = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]))
  assert.deepEqual(await verifyWebhook(body, shouted, secret), event)
})

test('the example of the specification is verified', async (t) => {
  t.mock.method(Date, 'now', () => 1_614_265_330_000)
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  }
  assert.equal((await verifyWebhook('{"test": 2432232314}', headers, secret)).id, 'msg_p5jXN8AQM9LWM0D4loKWxJek')
})

test('without a global crypto, as in Node 18, signatures are verified with that of the module', async () => {
  const own = Object.getOwnPropertyDescriptor(globalThis, 'crypto')!
  const headers = signed()
  Object.defineProperty(globalThis, 'crypto', { value: undefined, configurable: true })
  try {
    assert.equal((await verifyWebhook(body, headers, secret)).id, 'evt_1_turn_completed')
    await refused(verifyWebhook(body, headers, other), /No signature/)
  } finally {
    Object.defineProperty(globalThis, 'crypto', own)
  }
})

test('while a secret rotates, one signature of one of the secrets is enough', async () => {
  const timestamp = seconds()
  const [first, second] = [signed(secret, timestamp), signed(other, timestamp)]
  const both = { ...first, 'webhook-signature': `v1a,ignored ${first['webhook-signature']} ${second['webhook-signature']}` }
  for (const known of [secret, other, [other, secret]]) await verifyWebhook(body, both, known)
  await verifyWebhook(body, first, [other, secret])
})

test('anything else is refused: another secret, another body, another ID or time, no signature', async () => {
  const headers = signed()
  await refused(verifyWebhook(body, headers, other), /No signature/)
  await refused(verifyWebhook(body.replace('completed', 'failed'), headers, secret), /No signature/)
  await refused(verifyWebhook(body, { ...headers, 'webhook-id': 'evt_2' }, secret), /No signature/)
  await refused(verifyWebhook(body, { ...headers, 'webhook-timestamp': String(seconds() - 5) }, secret), /No signature/)
  for (const signature of [
    'v1,',
    'v1,%%%',
    'v2,x',
    headers['webhook-signature']!.slice(0, -4),
    headers['webhook-signature']!.replace('v1', 'v2'),
  ])
    await refused(verifyWebhook(body, { ...headers, 'webhook-signature': signature }, secret), /No signature/)
  for (const name of Object.keys(headers)) await refused(verifyWebhook(body, { ...headers, [name]: undefined }, secret), /is missing/)
  await refused(verifyWebhook(body, { ...headers, 'webhook-timestamp': 'soon' }, secret), /not a time/)
})

test('a request that is sent again later is refused, unless the tolerance is longer', async () => {
  await verifyWebhook(body, signed(secret, seconds() - 290), secret)
  await refused(verifyWebhook(body, signed(secret, seconds() - 310), secret), /too old/)
  await refused(verifyWebhook(body, signed(secret, seconds() + 310), secret), /future/)
  await verifyWebhook(body, signed(secret, seconds() - 310), secret, { toleranceSeconds: 600 })
})

test('a secret that is not one is an error of the program, and is not in its message', async () => {
  for (const wrong of ['', 'whsec_', 'whsec_%%%', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])
    await assert.rejects(verifyWebhook(body, signed(), wrong), (error: unknown) => {
      assert.ok(error instanceof TurnkeepError && !(error instanceof WebhookVerificationError))
      return wrong === '' || wrong === 'whsec_' || !error.message.includes(wrong)
    })
  await assert.rejects(verifyWebhook(body, signed(), []), TurnkeepError)
})
