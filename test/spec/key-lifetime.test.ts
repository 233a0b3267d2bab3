/**
 * A hundred callers with one key and one body while its 24 hours expire. Each request gets the old reply or is part of exactly one new
 * turn. The store's clock is set shortly before the expiry, which happens while they send requests.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { callsOf, makeSent, names, send, transports } from '../support/outcome.ts'
import type { Sent } from '../support/outcome.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

const lifetimeMs = 24 * 60 * 60 * 1000
const callers = 100

type Round = { old: number; busy: number; again: Set<string>; first: 'old' | 'busy' | 'new' | undefined }

/** Every caller repeats its request, on both transports in turn, until it gets the new reply. */
async function askOn(app: TestApp, sent: Sent, oldId: string, until: number): Promise<Round> {
  const round: Round = { old: 0, busy: 0, again: new Set(), first: undefined }
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let tries = caller; ; tries++) {
        assert.ok(performance.now() < until, 'the key never ran out')
        const renewed = round.again.size > 0
        const { reply, code, events, answer } = await send(app, { ...sent, transport: transports[tries % 2]! })
        // A busy machine may answer 503 in time.
        if (code === 'service_unavailable') continue
        const got = code === 'idempotency_in_progress' ? 'busy' : reply?.['request_id'] === oldId ? 'old' : 'new'
        round.first ??= got
        if (got === 'busy') {
          round.busy += 1
          continue
        }
        assert.ok(reply, answer.text)
        if (got === 'new') return void round.again.add(reply['request_id'])
        assert.equal(renewed, false, 'a request after the new reply does not get the old one')
        if (events.length > 0) assert.equal(names(events), 'response.created response.completed', 'a replay')
        round.old += 1
      }
    }),
  )
  return round
}

void test('fault.key-expiry-race idempotency.lifetime: a hundred callers while a key expires: the old reply, or one new turn, never two', async (t) => {
  await using app = await startTestApp()
  // A slow machine needs longer to start; a round counts if at least one caller got the old reply first.
  let passed = 0
  for (let beforeMs = 40; passed < 3 && beforeMs <= 20_480; beforeMs *= 2) passed += Number(await runOut(t, app, beforeMs))
  assert.equal(passed, 3, 'rounds in which the moment passed while they asked')
})

/** Takes one key through its expiry; returns whether that happened while all callers sent requests. */
async function runOut(t: TestContext, app: TestApp, beforeMs: number): Promise<boolean> {
  const sent = await makeSent(app, `runs out ${beforeMs}`)
  const { reply: first } = await send(app, sent)
  await app.moveClock(lifetimeMs - beforeMs)
  const { old, busy, again, first: reported } = await askOn(app, sent, first!['request_id'], performance.now() + beforeMs + 60_000)
  t.diagnostic(`${beforeMs} ms before the end: ${old} times the old reply, ${busy} times in progress, ${again.size} new turn`)
  assert.equal(again.size, 1)
  assert.equal(callsOf(app, sent), 2)
  const { data } = await app.made('GET', `/owners/${sent.caller.ownerId}/ledger?limit=100`)
  assert.equal((data as Json[]).filter(({ kind }) => kind === 'charge').length, 2)
  assert.deepEqual(
    (await app.messages(sent.user, sent.caller)).map((message) => message['request_id']),
    [first!['request_id'], first!['request_id'], [...again][0], [...again][0]],
  )
  assert.equal((await app.made('GET', `/owners/${sent.caller.ownerId}`))['held_usd'], '0.00000000')
  await app.verify()
  return reported === 'old'
}
