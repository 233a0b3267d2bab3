/** Webhooks over HTTP: what a receiver gets, and what the operator can do (docs/spec.md, "Webhooks"). */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import OpenAI from 'openai'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { changeRows } from '../support/change-rows.ts'
import { startReceiver } from '../support/webhook-receiver.ts'
import type { Received } from '../support/webhook-receiver.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp, TestAppOptions } from '../support/test-app.ts'
import { fakeTimers } from '../support/fake-timers.ts'
import { maxWaitMs } from '../support/until.ts'

type Receiver = Awaited<ReturnType<typeof startReceiver>>

const startAppFor = (receiver: Receiver, options: TestAppOptions = {}): Promise<TestApp> =>
  startTestApp({ ...options, env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: receiver.host, ...options.env } })

/** Events of the same millisecond are not recorded for a new webhook. */
async function makeWebhook(app: TestApp, receiver: Receiver, path: string, fields: Json = {}): Promise<Json> {
  const webhook = await app.made('POST', '/webhooks', { url: receiver.url(path), events: ['*'], ...fields })
  await app.moveClock(2)
  return webhook
}

const deliveriesOf = async (app: TestApp, webhook: Json, query = ''): Promise<Json[]> =>
  (await app.made('GET', `/webhooks/${webhook.id}/deliveries?limit=100${query}`)).data

async function until<Value>(what: string, read: () => Promise<Value | undefined | false>): Promise<Value> {
  const end = performance.now() + maxWaitMs
  for (;;) {
    const value = await read()
    if (value) return value
    assert.ok(performance.now() < end, `never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

const whenEnded = (app: TestApp, webhook: Json, count = 1): Promise<Json[]> =>
  until(`${count} ended deliveries`, async () => {
    const ended = (await deliveriesOf(app, webhook)).filter(({ status }) => status !== 'pending')
    return ended.length >= count && ended
  })

async function giveFeedback(app: TestApp, requestId: string, body: Json): Promise<void> {
  const response = await fetch(`${app.url}/v1/agents/${app.caller.agentId}/turns/${requestId}/feedback`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.caller.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.equal(response.status, 200)
}

async function figuresOf(app: TestApp): Promise<Map<string, number>> {
  const response = await fetch(`${app.adminUrl}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } })
  assert.equal(response.status, 200)
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]))
}

/** Verifies as three independent libraries do. */
async function verifyAll({ body, headers }: Received, secret: string): Promise<void> {
  new StandardWebhook(secret).verify(body, headers)
  new SvixWebhook(secret).verify(body, headers)
  const unwrapped = await new OpenAI({ apiKey: 'unused', webhookSecret: secret }).webhooks.unwrap(body, headers)
  assert.deepEqual(unwrapped, JSON.parse(body))
}

test('webhook.signed: a delivery is verified by the libraries of Standard Webhooks, Svix and OpenAI, and not with another secret', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver)
  const webhook = await makeWebhook(app, receiver, '/hook')
  assert.match(webhook.id, /^whk_/)
  assert.match(webhook.secret, /^whsec_[\w+/]{43}=$/)
  const reply = await app.chat('hello', { user: 'ann' })
  const [one] = (await receiver.got('/hook', 1)) as [Received]
  await verifyAll(one, webhook.secret)
  const other = await makeWebhook(app, receiver, '/other')
  assert.throws(() => new StandardWebhook(other.secret).verify(one.body, one.headers))
  assert.equal(one.headers['content-type'], 'application/json')
  assert.equal(one.id, `evt_${reply.json.request_id}_turn_completed`)
  const { data, ...rest } = one.json
  assert.deepEqual(Object.keys(rest), ['type', 'timestamp'])
  assert.equal(rest.type, 'turn.completed')
  assert.equal(rest.timestamp, data.ended_at)
  assert.deepEqual(data, {
    request_id: reply.json.request_id,
    conversation_id: reply.json.conversation_id,
    external_user_id: 'ann',
    owner_id: app.caller.ownerId,
    agent_id: app.caller.agentId,
    agent_version: 1,
    key_id: data.key_id,
    status: 'completed',
    run: 1,
    created_at: data.created_at,
    ended_at: data.ended_at,
    incomplete: false,
    finish_reason: 'stop',
    usage: data.usage,
    error: null,
  })
  assert.deepEqual(data.usage, { ...reply.json.usage, charged_usd: data.usage.charged_usd, estimated: data.usage.estimated })
  await app.verify()
})

test('webhook.messages: texts of end users are sent only to a webhook that includes messages, and to none after an erasure', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver)
  const plain = await makeWebhook(app, receiver, '/plain')
  await makeWebhook(app, receiver, '/whole', { include_messages: true })
  app.model.script(['the generated words'])
  const { json } = await app.chat('the private words', { user: 'ann' })
  await giveFeedback(app, json.request_id, { rating: 'down', comment: 'the commented words' })
  const whole = await receiver.got('/whole', 2)
  const ofType = (type: string): Json => whole.find((one) => one.json.type === type)!.json.data
  assert.deepEqual(ofType('turn.completed').user_message.content, 'the private words')
  assert.deepEqual(ofType('turn.completed').message, { id: json.message.id, content: 'the generated words' })
  assert.equal(ofType('feedback.created').comment, 'the commented words')
  for (const { body } of await receiver.got('/plain', 2)) assert.doesNotMatch(body, /words/)
  await whenEnded(app, plain, 2)
  await app.made('DELETE', `/agents/${app.caller.agentId}/end-users?external_user_id=ann`)
  for (const delivery of await deliveriesOf(app, plain)) await app.made('POST', `/webhooks/${plain.id}/deliveries/${delivery.id}/retry`)
  const again = (await receiver.got('/plain', 4)).slice(2)
  assert.deepEqual(
    again.map(({ json }) => json.data['external_user_id']),
    [null, null],
  )
  assert.equal(again[0]!.json.data['request_id'], json.request_id)
})

test('webhook.messages: a delivery is shown with the body that was sent, and with messages only to those who may read them', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver)
  const plain = await makeWebhook(app, receiver, '/plain')
  const whole = await makeWebhook(app, receiver, '/whole', { include_messages: true })
  app.model.script(['the generated words'])
  await app.chat('the private words', { user: 'ann' })
  const [sentWhole] = await receiver.got('/whole', 1)
  const [sentPlain] = await receiver.got('/plain', 1)
  const { id } = await whenEnded(app, whole, 1).then((deliveries) => deliveries[0]!)
  const pathOf = (webhook: Json): string => `/webhooks/${webhook.id}/deliveries/${id}`
  const { body, ...delivery } = await app.made('GET', pathOf(whole))
  assert.deepEqual(body, sentWhole!.json)
  assert.deepEqual(delivery, (await deliveriesOf(app, whole))[0])
  assert.deepEqual((await app.made('GET', pathOf(plain))).body, sentPlain!.json)

  const program = await app.made('POST', '/tokens', { name: 'CI', role: 'viewer' })
  const seen = await app.admin('GET', pathOf(whole), undefined, { authorization: `Bearer ${program.token}` })
  assert.equal(seen.status, 200)
  assert.doesNotMatch(seen.text, /words/)
  assert.deepEqual(seen.json.body, { ...sentPlain!.json })
})

test('webhook.delivered: a failed attempt is repeated on the schedule under the same ID, until the last one fails', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver, { webhookSettings: { random: () => 0.5, pollMs: 20 } })
  const webhook = await makeWebhook(app, receiver, '/failing')
  receiver.on('/failing', (_, response) => void response.writeHead(500).end('the private words of an end user'))
  const now = (): Promise<number> => app.app.store.read.storeTime()
  const delaysMs = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((seconds) => seconds * 1000)
  let dueAt = await now()
  await app.chat('hello')
  for (const [index, delayMs] of delaysMs.entries()) {
    await receiver.got('/failing', index + 1)
    const pending = await until('the attempt is stored', async () => {
      const [one] = await deliveriesOf(app, webhook, '&status=pending')
      return one && one['last_status'] === 500 && one['attempts'] > index && one
    })
    assert.equal(pending['last_error'], 'the endpoint answered 500')
    // On a busy machine, the 5 s may have passed already.
    if (index === 0 && pending['attempts'] === 2) continue
    assert.equal(pending['attempts'], index + 1)
    const nextAt = Date.parse(pending['next_attempt_at'])
    const leftMs = nextAt - (await now())
    assert.ok(nextAt - dueAt >= delayMs, `${nextAt - dueAt} ms after the attempt was due`)
    assert.ok(leftMs <= delayMs, `${leftMs} ms from now`)
    dueAt = nextAt
    const marginMs = 60_000
    if (index > 0) {
      // A minute before it is due, nothing is sent.
      await app.moveClock(leftMs - marginMs)
      await new Promise((resolve) => setTimeout(resolve, 100))
      assert.equal(receiver.at('/failing').length, index + 1)
    }
    await app.moveClock(index > 0 ? marginMs : Math.max(0, leftMs))
  }
  const all = await receiver.got('/failing', 10)
  const [failed] = await whenEnded(app, webhook)
  assert.deepEqual([failed!['status'], failed!['attempts'], failed!['next_attempt_at']], ['failed', 10, null])
  assert.equal(new Set(all.map(({ id }) => id)).size, 1)
  assert.equal(new Set(all.map(({ body }) => body)).size, 1)
  await app.moveClock(24 * 60 * 60 * 1000)
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(receiver.at('/failing').length, 10, 'the last attempt was the last')
  assert.equal(await app.occurrences('the private words'), 0)

  receiver.on('/failing', (_, response) => void response.writeHead(200).end())
  await app.made('POST', `/webhooks/${webhook.id}/deliveries/${failed!['id']}/retry`)
  assert.equal((await receiver.got('/failing', 11))[10]!.id, all[0]!.id)
  const [delivered] = await until('delivered', async () => {
    const ended = await deliveriesOf(app, webhook, '&status=delivered')
    return ended.length === 1 && ended
  })
  assert.deepEqual([delivered!['attempts'], delivered!['last_status'], delivered!['last_error']], [1, 200, null])
  await app.verify()
})

test('webhook.delivered: redirects, errors, no answer and closed connections are failures; 2xx is success, whatever follows it', async (t) => {
  await using receiver = await startReceiver()
  // No other timer has this length.
  const timeoutMs = 11_000
  const timers = fakeTimers(t, (ms) => ms === timeoutMs)
  await using app = await startAppFor(receiver, { webhookSettings: { timeoutMs } })
  receiver.on('/redirect', (_, response) => void response.writeHead(307, { location: receiver.url('/ok') }).end())
  receiver.on('/nowhere', (_, response) => void response.writeHead(301, { location: 'http://[' }).end())
  receiver.on('/not-modified', (_, response) => void response.writeHead(304).end())
  receiver.on('/error', (_, response) => void response.writeHead(404).end())
  receiver.on('/hang', () => undefined)
  receiver.on('/reset', (_, response) => void response.socket!.destroy())
  receiver.on('/cut', (_, response) => {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('some', () => response.socket!.destroy())
  })
  receiver.on('/large', (_, response) => void response.writeHead(200).end('x'.repeat(1_000_000)))
  receiver.on('/endless', (_, response) => void response.writeHead(202).write('x'))
  const paths = ['/redirect', '/nowhere', '/not-modified', '/error', '/hang', '/reset', '/cut', '/large', '/endless']
  const webhooks: [string, Json][] = []
  for (const path of paths) webhooks.push([path, await makeWebhook(app, receiver, path)])
  await app.chat('hello')
  await until('only one has no end', async () => {
    const all = await Promise.all(webhooks.map(async ([, webhook]) => (await deliveriesOf(app, webhook))[0]))
    return all.filter((one) => one?.['status'] === 'delivered' || one?.['last_error']).length === paths.length - 1
  })
  await receiver.got('/hang', 1)
  timers.pass(timeoutMs)
  const outcomes = await Promise.all(
    webhooks.map(async ([path, webhook]) => {
      const delivery = await until(`an attempt to ${path}`, async () => {
        const [one] = await deliveriesOf(app, webhook)
        return one && (one['status'] === 'delivered' || one['last_error'] !== null) && one
      })
      return [path, delivery['status'], delivery['last_status'], delivery['last_error']]
    }),
  )
  assert.deepEqual(outcomes, [
    ['/redirect', 'pending', 307, 'the endpoint answered 307; redirects are not followed'],
    ['/nowhere', 'pending', 301, 'the endpoint answered 301; redirects are not followed'],
    ['/not-modified', 'pending', 304, 'the endpoint answered 304; redirects are not followed'],
    ['/error', 'pending', 404, 'the endpoint answered 404'],
    ['/hang', 'pending', null, 'the endpoint did not answer within 11 s'],
    ['/reset', 'pending', null, 'the server closed the connection before sending a complete response (UND_ERR_SOCKET)'],
    ['/cut', 'delivered', 200, null],
    ['/large', 'delivered', 200, null],
    ['/endless', 'delivered', 202, null],
  ])
  assert.equal(receiver.at('/ok').length, 0)
})

test('webhook.delivered: 410 disables the webhook, and an operator enables it again', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver)
  const webhook = await makeWebhook(app, receiver, '/gone')
  receiver.on('/gone', (_, response) => void response.writeHead(410).end())
  await app.chat('hello')
  await whenEnded(app, webhook)
  const disabled = await app.made('GET', `/webhooks/${webhook.id}`)
  assert.deepEqual(
    [disabled['enabled'], disabled['disabled_reason']],
    [false, 'the endpoint answered 410 Gone, which disables the webhook'],
  )
  const [line] = (await app.made('GET', '/audit')).data
  assert.deepEqual([line.who, line.verb, line.noun, line.subject_id, line.fields], ['server', 'change', 'webhook', webhook.id, ['enabled']])
  await app.chat('hello again')
  assert.equal((await deliveriesOf(app, webhook)).length, 1)
  receiver.on('/gone', (_, response) => void response.writeHead(204).end())
  const enabled = await app.made('PATCH', `/webhooks/${webhook.id}`, { enabled: true })
  assert.deepEqual([enabled['enabled'], enabled['disabled_reason']], [true, null])
  await app.moveClock(2)
  await app.chat('hello once more')
  await receiver.got('/gone', 2)
  await app.verify()
})

test('webhook.delivered: what is pending when a 410 disables the webhook waits, and is sent when the webhook is enabled again', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver, { webhookSettings: { pollMs: 20 } })
  const webhook = await makeWebhook(app, receiver, '/gone')
  receiver.on('/gone', (_, response) => void response.writeHead(500).end())
  const waiting = (await app.chat('hello')).json.request_id as string
  await until('an attempt has failed', async () => (await deliveriesOf(app, webhook)).some((one) => one['last_status'] === 500))
  receiver.on('/gone', (one, response) => void response.writeHead(one.id.includes(waiting) ? 500 : 410).end())
  await app.chat('hello again')
  await until('disabled', async () => (await app.made('GET', `/webhooks/${webhook.id}`))['enabled'] === false)
  const statuses = async (): Promise<unknown[]> =>
    (await deliveriesOf(app, webhook)).map(({ id, status }) => [id.includes(waiting), status]).toSorted()
  await until('the other one has failed', async () => (await deliveriesOf(app, webhook, '&status=failed')).length === 1)
  const attempted = async (): Promise<number> => receiver.at('/gone').length
  await app.moveClock(10 * 60 * 60 * 1000)
  const before = await attempted()
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.equal(await attempted(), before, 'nothing is sent to a disabled webhook')
  assert.deepEqual(await statuses(), [
    [false, 'failed'],
    [true, 'pending'],
  ])
  receiver.on('/gone', (_, response) => void response.writeHead(204).end())
  await app.made('PATCH', `/webhooks/${webhook.id}`, { enabled: true })
  await until('the waiting one is sent', async () => (await deliveriesOf(app, webhook, '&status=delivered')).length === 1)
  assert.deepEqual(await statuses(), [
    [false, 'failed'],
    [true, 'delivered'],
  ])
  await app.verify()
})

test('webhook.signed: for the grace period both secrets verify, and after it only the new one', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver)
  const webhook = await makeWebhook(app, receiver, '/hook')
  const rotated = await app.made('POST', `/webhooks/${webhook.id}/rotate-secret`, { grace_seconds: 3600 })
  assert.notEqual(rotated['secret'], webhook.secret)
  assert.equal(rotated['previous_secret_expires_at'], new Date(Date.parse(rotated['updated_at']) + 3_600_000).toISOString())
  await app.chat('hello')
  const [both] = await receiver.got('/hook', 1)
  assert.equal(both!.headers['webhook-signature']!.split(' ').length, 2)
  await verifyAll(both!, webhook.secret)
  await verifyAll(both!, rotated['secret'])
  const again = await app.made('POST', `/webhooks/${webhook.id}/rotate-secret`, { grace_seconds: 0 })
  await app.chat('hello again')
  const one = (await receiver.got('/hook', 2))[1]!
  assert.equal(one.headers['webhook-signature']!.split(' ').length, 1)
  await verifyAll(one, again['secret'])
  assert.throws(() => new StandardWebhook(rotated['secret']).verify(one.body, one.headers))
  for (const secret of [webhook.secret, rotated['secret'], again['secret']])
    assert.equal(await app.occurrences(secret.slice('whsec_'.length)), 0, 'secrets are encrypted at rest')
})

test('webhook.signed: each secret signs until its own grace period ends, whatever is rotated in the meantime', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver)
  const webhook = await makeWebhook(app, receiver, '/hook')
  const rotate = (graceSeconds: number): Promise<Json> =>
    app.made('POST', `/webhooks/${webhook.id}/rotate-secret`, { grace_seconds: graceSeconds })
  let sent = 0
  /** The secrets of which the next delivery has a signature. */
  const signers = async (secrets: string[]): Promise<string[]> => {
    await app.chat('hello')
    const one = (await receiver.got('/hook', ++sent))[sent - 1]!
    assert.ok(one.headers['webhook-signature']!.split(' ').length <= secrets.length)
    const signs = (secret: string): boolean => {
      try {
        return new StandardWebhook(secret).verify(one.body, one.headers) !== undefined
      } catch {
        return false
      }
    }
    return secrets.filter(signs)
  }
  const first = webhook.secret
  const rotated = await rotate(100_000)
  const second = rotated.secret
  const again = await rotate(1)
  const third = again.secret
  assert.equal(again['previous_secret_expires_at'], rotated['previous_secret_expires_at'], 'the end of the last of the old secrets')
  // The sender compares with the clock of the machine, which a test does not move.
  const until = performance.now() + 1_500
  while (performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 50))
  assert.deepEqual(await signers([first, second, third]), [first, third])
  const more = [await rotate(100_000), await rotate(100_000), await rotate(100_000)].map(({ secret }) => secret)
  const refusal = await app.admin('POST', `/webhooks/${webhook.id}/rotate-secret`, { grace_seconds: 60 })
  assert.deepEqual([refusal.status, refusal.json['error'].code], [409, 'conflict'])
  assert.match(refusal.json['error'].message, /^This webhook has 5 valid secrets, the maximum\. The first old one ends at 20/)
  assert.deepEqual(await signers([first, third, ...more]), [first, third, ...more])
  const last = (await rotate(0)).secret
  assert.deepEqual(await signers([first, third, ...more, last]), [last])
  for (const secret of [first, second, third, ...more, last])
    assert.equal(await app.occurrences(secret.slice('whsec_'.length)), 0, 'secrets are encrypted at rest')
})

test('clock webhook.delivered: the schedule follows the clock of the store: early after a jump forward, late after a jump back, and never lost', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver, { webhookSettings: { random: () => 0.5, pollMs: 20 } })
  const webhook = await makeWebhook(app, receiver, '/jumps')
  receiver.on('/jumps', (_, response) => void response.writeHead(500).end())
  const hourMs = 3_600_000
  const delaysMs = [5_000, 300_000, 1_800_000, 7_200_000]
  /** Resolves with the number of attempts, when so many are stored and most of the time until the next one is left. */
  const attempted = async (least: number): Promise<number> => {
    await receiver.got('/jumps', least)
    return until(`attempt ${least} is stored`, async () => {
      const [one] = await deliveriesOf(app, webhook, '&status=pending')
      if (!one || one['attempts'] < least || one['last_status'] !== 500) return false
      const nextInMs = delaysMs[one['attempts'] - 1]!
      const inMs = Date.parse(one['next_attempt_at']) - (await app.app.store.read.storeTime())
      return inMs > nextInMs / 2 && inMs <= nextInMs && (one['attempts'] as number)
    })
  }
  const nothing = async (attempts: number): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.equal(receiver.at('/jumps').length, attempts)
  }
  const { json } = await app.chat('hello')
  await attempted(1)
  await app.moveClock(hourMs)
  // Two, or three on a machine that is busy for the 5 s after the first one.
  const attempts = await attempted(2)
  // This adds an hour to the time that is left.
  await app.moveClock(-hourMs)
  await app.moveClock(delaysMs[attempts - 1]! + 5_000)
  await nothing(attempts)
  // An event of this time is sent immediately.
  receiver.on('/jumps', (one, response) => void response.writeHead(one.id.includes(json.request_id) ? 500 : 204).end())
  await app.chat('after the jump')
  await receiver.got('/jumps', attempts + 1)
  await app.moveClock(hourMs)
  await receiver.got('/jumps', attempts + 2)
  receiver.on('/jumps', (_, response) => void response.writeHead(204).end())
  await attempted(attempts + 1)
  await app.moveClock(delaysMs[attempts]!)
  const ended = await whenEnded(app, webhook, 2)
  assert.deepEqual(ended.map(({ id, status, attempts }) => [id.includes(json.request_id), status, attempts]).toSorted(), [
    [false, 'delivered', 1],
    [true, 'delivered', attempts + 2],
  ])
  assert.equal(receiver.received.length, attempts + 3)
  assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 2)
  await app.verify()
})

test('webhook.delivered: an event that cannot be read fails its own delivery, with the reason, and no other one', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver, { webhookSettings: { pollMs: 20 } })
  const webhook = await makeWebhook(app, receiver, '/hook')
  const { json } = await app.chat('hello')
  await receiver.got('/hook', 1)
  const now = await app.app.store.read.storeTime()
  const add = (subject: string, type: string, at: number): Promise<void> =>
    changeRows(
      app,
      `insert into events (id, type, subject, owner_id, agent_id, occurred_at)
         values ('evt_${subject}_${type.replace('.', '_')}', '${type}', '${subject}', '${app.caller.ownerId}', '${app.caller.agentId}', ${at});
       insert into deliveries (event_id, webhook_id, next_at, created_at)
         values ('evt_${subject}_${type.replace('.', '_')}', '${webhook.id}', 0, ${now})`,
    )
  await add('00000000-0000-4000-8000-000000000000', 'turn.completed', now)
  // No date has this time, so the body cannot be built.
  await add(json.request_id, 'turn.failed', 9_000_000_000_000_000)
  await app.chat('hello again')
  await receiver.got('/hook', 2)
  const failed = await until('both have failed', async () => {
    const all = (await deliveriesOf(app, webhook)).filter(({ attempts, last_error: error }) => attempts === 1 && error !== null)
    return all.length === 2 && all
  })
  assert.deepEqual(failed.map(({ type, status, last_error: error }) => [type, status, error]).toSorted(), [
    ['turn.completed', 'pending', 'the event cannot be read: its turn is not stored'],
    ['turn.failed', 'pending', 'internal error: the log of the server has its cause'],
  ])
  const figures = await figuresOf(app)
  for (const outcome of ['event', 'internal']) assert.equal(figures.get(`turnkeep_webhook_attempts_total{outcome="${outcome}"}`), 1)
  assert.equal(figures.get(`turnkeep_webhook_failed_attempts_total{webhook_id="${webhook.id}"}`), 2)
  assert.equal(receiver.received.length, 2)
})

test('webhook.slots: an endpoint that hangs does not delay another one', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver, { webhookSettings: { timeoutMs: 60_000, leaseMs: 90_000 } })
  await makeWebhook(app, receiver, '/hang')
  await makeWebhook(app, receiver, '/fast')
  receiver.on('/hang', () => undefined)
  await Promise.all(Array.from({ length: 40 }, (_, n) => app.chat('hello', { user: `user-${n}` })))
  await receiver.got('/fast', 40)
  assert.equal(receiver.at('/hang').length, 16, 'no more than its own slots')
})

test('webhook.slots: a response whose body does not end occupies no slot after its status', async () => {
  await using receiver = await startReceiver()
  // Longer than the test, so that no timeout frees a slot.
  await using app = await startAppFor(receiver, { webhookSettings: { timeoutMs: 300_000, leaseMs: 400_000 } })
  const good = await makeWebhook(app, receiver, '/drips')
  const bad = await makeWebhook(app, receiver, '/drips-and-fails')
  let open = 0
  const drip = (status: number) => (_: Received, response: ServerResponse) => {
    open++
    response.on('close', () => open--)
    response.writeHead(status).write('x')
  }
  receiver.on('/drips', drip(200))
  receiver.on('/drips-and-fails', drip(500))
  await Promise.all(Array.from({ length: 40 }, (_, n) => app.chat('hello', { user: `user-${n}` })))
  await receiver.got('/drips', 40)
  await receiver.got('/drips-and-fails', 40)
  assert.ok((await whenEnded(app, good, 40)).every(({ status }) => status === 'delivered'))
  await until('the failed attempts are stored', async () => (await deliveriesOf(app, bad)).every((one) => one['last_status'] === 500))
  await until('the connections are closed', async () => open === 0)
})

test('webhook.replay: a range is sent again under the same IDs, and a test event is sent at once', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver)
  await app.chat('before there is a webhook')
  await app.moveClock(2)
  const webhook = await makeWebhook(app, receiver, '/hook')
  await app.chat('hello')
  await receiver.got('/hook', 1)
  await whenEnded(app, webhook)
  const from = new Date((await app.app.store.read.storeTime()) - 60_000).toISOString()
  const range = { from, to: new Date((await app.app.store.read.storeTime()) + 1_000).toISOString() }
  assert.deepEqual(await app.made('POST', `/webhooks/${webhook.id}/replay`, range), { deliveries: 2 })
  const all = await receiver.got('/hook', 3)
  assert.equal(new Set(all.map(({ id }) => id)).size, 2)
  const tested = await app.made('POST', `/webhooks/${webhook.id}/test`)
  assert.deepEqual([tested['ok'], tested['status']], [true, 204])
  const sent = (await receiver.got('/hook', 4))[3]!
  assert.deepEqual([sent.json.type, sent.json.data], ['webhook.test', { webhook_id: webhook.id }])
  await verifyAll(sent, webhook.secret)
  receiver.on('/hook', (_, response) => void response.writeHead(503).end())
  const refused = await app.made('POST', `/webhooks/${webhook.id}/test`)
  assert.deepEqual([refused['ok'], refused['status'], refused['error']], [false, 503, 'the endpoint answered 503'])
  assert.equal((await deliveriesOf(app, webhook)).length, 2, 'a test is stored nowhere')
})

test('webhooks: bad input gets a sentence that says what is wrong, and nothing is created', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver)
  const good = { url: receiver.url('/hook'), events: ['*'] }
  const other = await app.makeCaller()
  const deleted = await app.makeAgent(other.ownerId, { name: 'Deleted' })
  await app.made('DELETE', `/agents/${deleted.id}`)
  const refused: [Json, RegExp][] = [
    [{ ...good, url: 'http://127.0.0.1:1/' }, /^url is not allowed: .*TURNKEEP_ALLOW_PRIVATE_HOSTS/],
    [{ ...good, url: 'http://example.com/' }, /^url is not allowed: /],
    [{ ...good, url: 'ftp://example.com/' }, /^url is not allowed: /],
    [{ ...good, url: 'not a url' }, /^url must be an https URL/],
    [{ ...good, events: [] }, /events/],
    [{ ...good, events: ['turn.ended'] }, /events/],
    [{ ...good, events: ['*', 'turn.failed'] }, /^events must be/],
    [{ ...good, owner_id: 'own_x' }, /^owner_id: this owner does not exist/],
    [{ ...good, agent_id: 'agt_x' }, /^agent_id: this agent does not exist/],
    [{ ...good, agent_id: deleted.id }, /^agent_id: this agent does not exist/],
    [{ ...good, owner_id: other.ownerId, agent_id: app.caller.agentId }, /^agent_id: this agent belongs to another owner than owner_id/],
    [{ ...good, secret: 'mine' }, /secret/],
  ]
  for (const [body, message] of refused) {
    const answer = await app.admin('POST', '/webhooks', body)
    assert.equal(answer.status, 422, answer.text)
    assert.match(answer.json['error'].message, message)
  }
  assert.deepEqual((await app.made('GET', '/webhooks')).data, [])
  const webhook = await makeWebhook(app, receiver, '/hook', { description: 'Orders', agent_id: app.caller.agentId })
  const { secret: _, ...shown } = webhook
  const ofAnother = await app.admin('PATCH', `/webhooks/${webhook.id}`, { owner_id: other.ownerId })
  assert.equal(ofAnother.status, 422)
  assert.match(ofAnother.json['error'].message, /^agent_id: this agent belongs to another owner than owner_id/)
  assert.deepEqual((await app.made('GET', '/webhooks')).data, [shown])
  const changed = await app.made('PATCH', `/webhooks/${webhook.id}`, { events: ['turn.failed'], agent_id: null, description: null })
  assert.deepEqual(
    [changed['events'], changed['agent_id'], changed['description'], changed['url']],
    [['turn.failed'], null, null, good.url],
  )
  assert.equal((await app.admin('PATCH', `/webhooks/${webhook.id}`, { url: 'https://[::1]/' })).status, 422)
  for (const [method, path] of [
    ['GET', '/webhooks/whk_x'],
    ['PATCH', '/webhooks/whk_x'],
    ['DELETE', '/webhooks/whk_x'],
    ['POST', '/webhooks/whk_x/test'],
    ['POST', '/webhooks/whk_x/rotate-secret'],
    ['GET', '/webhooks/whk_x/deliveries'],
    ['GET', '/webhooks/whk_x/deliveries/evt_x'],
    ['GET', `/webhooks/${webhook.id}/deliveries/evt_x`],
    ['POST', '/webhooks/whk_x/deliveries/evt_x/retry'],
    ['POST', `/webhooks/${webhook.id}/deliveries/evt_x/retry`],
  ] as const)
    assert.equal((await app.admin(method, path, method === 'PATCH' ? {} : undefined)).status, 404, `${method} ${path}`)
  for (const range of [
    { from: '2026-01-02', to: '2026-01-01' },
    { from: '2020-01-01', to: '2100-01-01' },
    { from: 'soon', to: 'later' },
  ])
    assert.equal((await app.admin('POST', `/webhooks/${webhook.id}/replay`, range)).status, 422)
  assert.equal((await app.admin('GET', `/webhooks/${webhook.id}/deliveries?status=lost`)).status, 422)
  assert.equal((await app.admin('DELETE', `/webhooks/${webhook.id}`)).status, 204)
  const lines = (await app.made('GET', '/audit?limit=100')).data.filter((line: Json) => line['noun'] === 'webhook')
  assert.deepEqual(
    lines.map((line: Json) => [line['who'], line['verb'], line['fields']]),
    [
      ['admin_token', 'delete', ['url', 'events', 'include_messages', 'enabled']],
      ['admin_token', 'change', ['events', 'agent_id', 'description']],
      ['admin_token', 'create', ['url', 'events', 'agent_id', 'description', 'include_messages', 'enabled']],
    ],
  )
})

test('balance.low: the operator sets the threshold of an owner, and one webhook reports the crossing', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver)
  await makeWebhook(app, receiver, '/hook', { events: ['balance.low'] })
  const { ownerId } = app.caller
  const { balance_usd: balance } = await app.owner()
  assert.equal((await app.made('PATCH', `/owners/${ownerId}`, { low_balance_usd: balance }))['low_balance_usd'], balance)
  assert.equal((await app.admin('PATCH', `/owners/${ownerId}`, { low_balance_usd: '-1' })).status, 422)
  await app.chat('hello')
  await app.chat('hello again')
  const [one] = await receiver.got('/hook', 1)
  const { balance_usd: left } = await app.owner()
  assert.deepEqual(one!.json.type, 'balance.low')
  assert.deepEqual([one!.json.data['owner_id'], one!.json.data['low_balance_usd']], [ownerId, balance])
  assert.ok(Number(one!.json.data['balance_usd']) >= Number(left))
  assert.equal(receiver.received.length, 1)
})

test('spend_limit.reached: the body has the window, its limit and the threshold, with the names of the admin API', async () => {
  await using receiver = await startReceiver()
  await using app = await startAppFor(receiver)
  await makeWebhook(app, receiver, '/hook', { events: ['spend_limit.reached'] })
  const { agentId, ownerId } = app.caller
  await app.made('PATCH', `/agents/${agentId}`, { spend_limits: [{ scope: 'end_user', usd: '0.01', window: 'day' }] })
  app.model.when('hello', ['hi', { usage: { prompt_tokens: 10, completion_tokens: 900 } }])
  let answer = await app.chat('hello')
  for (let n = 0; n < 1000 && answer.status === 200; n++) answer = await app.chat('hello')
  assert.deepEqual([answer.status, answer.json.error.code], [402, 'spend_limit_exceeded'])
  await receiver.got('/hook', 3)
  const bodies = receiver.received.map(({ json }) => json).toSorted((a, b) => a.data['threshold_percent'] - b.data['threshold_percent'])
  assert.deepEqual(
    bodies.map(({ type, data }) => [type, data['threshold_percent'], data['limit_usd']]),
    [50, 80, 100].map((percent) => ['spend_limit.reached', percent, '0.01000000']),
  )
  const user = encodeURIComponent(bodies[0]!.data['external_user_id'] as string)
  const { spending } = await app.made('GET', `/agents/${agentId}/end-users/limits?external_user_id=${user}`)
  const { owner_id, agent_id, threshold_percent, ...window } = bodies.at(-1)!.data
  assert.deepEqual([owner_id, agent_id, threshold_percent], [ownerId, agentId, 100])
  assert.deepEqual(window, (spending as Json[])[0])
})
