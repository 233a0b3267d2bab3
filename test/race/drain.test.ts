/**
 * SIGTERM with a hundred running streams, a second signal, and turns that take longer than the drain. Nothing is lost, nothing is charged
 * twice, and abandoned turns are completed after the restart or by another process.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Fleet, noFleet } from '../support/fleet.ts'
import { until } from '../support/until.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { gate } from '../support/model-server.ts'
import { RawSocket } from '../support/raw-socket.ts'

const streams = 100
const units = (usd: string): bigint => BigInt(usd.replace('.', ''))

void test('fault.sigterm: SIGTERM with a hundred streams under way: readiness probes fail, all streams complete and are charged once, exit code 0', async (t) => {
  const processRuns = await ProcessRuns.begin(t)
  const { caller } = processRuns.client
  const held = gate()
  processRuns.model.when('hello', ['one ', held, 'two'])
  const sent = Array.from({ length: streams }, (_, n) => ({ user: `user-${n}`, idempotencyKey: randomUUID() }))
  const [last, ...others] = sent
  const asked = others.map((one) => processRuns.client.stream('hello', one))
  // One caller uses a separate connection, so that it can send another request when no new connection is accepted.
  using raw = await RawSocket.open(Number(new URL(processRuns.server!.url).port))
  const body = JSON.stringify({ external_user_id: last!.user, message: 'hello' })
  raw.write(
    `POST /v1/agents/${caller.agentId}/chat/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${caller.apiKey}\r\n` +
      `Idempotency-Key: ${last!.idempotencyKey}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await processRuns.model.waitForCalls(streams)
  await raw.until('"one "')
  assert.equal((await fetch(`${processRuns.server!.url}/readyz`)).status, 200)

  const server = processRuns.server!
  server.child.kill('SIGTERM')
  await until('the drain', () => server.log.some(({ msg }) => String(msg).startsWith('draining')))
  await assert.rejects(fetch(`${server.url}/readyz`), 'no new connection is taken')
  raw.write('GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  held.open()
  const answers = await Promise.all(asked)
  await raw.rest()
  assert.deepEqual(await server.exited, { code: 0, signal: null })
  const replies = answers.map(({ events }) => events.at(-1)!)
  for (const { event, data } of replies) assert.deepEqual([event, data.message?.content], ['response.completed', 'one two'])
  assert.match(raw.answers[0]!.body, /event: response\.completed\nid: end\ndata: .*"content":"one two".*\n\n$/)
  assert.deepEqual([raw.answers[1]?.status, raw.answers[1]?.json.status], [503, 'draining'])
  await processRuns.verify()

  await processRuns.start()
  let charged = 0n
  for (const [index, one] of sent.entries()) {
    const replay = await processRuns.client.chat('hello', one)
    assert.deepEqual([replay.status, replay.json.message?.content], [200, 'one two'], replay.text)
    if (index > 0) assert.deepEqual(replay.json, replies[index - 1]!.data)
    charged += units(replay.json.usage.charged_usd)
  }
  assert.equal(processRuns.model.calls.length, streams)
  const { balance_usd: balance, held_usd: onHold } = await processRuns.client.owner()
  assert.deepEqual([units(balance) + charged, onHold], [units('10.00000000'), '0.00000000'])
  await processRuns.verify()
})

void test('fault.sigterm billing.once: a second SIGTERM ends the process immediately: the restart answers, charged once', async (t) => {
  const processRuns = await ProcessRuns.begin(t)
  const idempotencyKey = randomUUID()
  processRuns.model.script(['old ', gate(), 'never'], ['one ', 'two'])
  const asked = processRuns.client.stream('hello', { idempotencyKey }).then(
    ({ text }) => text.includes('completed'),
    () => false,
  )
  await processRuns.model.waitForCalls(1)
  const server = processRuns.server!
  server.child.kill('SIGTERM')
  await until('the drain', () => server.log.some(({ msg }) => String(msg).startsWith('draining')))
  // Sent repeatedly until it takes effect: two signals that arrive together count as one.
  const again = setInterval(() => server.child.kill('SIGTERM'), 100)
  assert.deepEqual(await server.exited, { code: 1, signal: null })
  clearInterval(again)
  assert.equal(await asked, false)
  await processRuns.verify()
  await processRuns.start()
  const answer = await processRuns.retry('hello', { idempotencyKey })
  assert.deepEqual([answer.status, answer.json.message?.content], [200, 'one two'], answer.text)
  assert.equal(await processRuns.charges(), 1)
  assert.equal((await processRuns.client.owner()).held_usd, '0.00000000')
  await processRuns.verify()
})

for (const transport of ['chat', 'stream'] as const) {
  void test(`fault.sigterm-past-drain billing.once: a turn that takes longer than the drain, on ${transport}: 503, then completed after the restart`, async (t) => {
    const processRuns = await ProcessRuns.begin(t, '', { env: { TURNKEEP_DRAIN_SECONDS: '1' } })
    const idempotencyKey = randomUUID()
    processRuns.model.script(['old ', gate(), 'never'], ['one ', 'two'])
    const asked =
      transport === 'chat' ? processRuns.client.chat('hello', { idempotencyKey }) : processRuns.client.stream('hello', { idempotencyKey })
    await processRuns.model.waitForCalls(1)
    assert.equal(await processRuns.server!.stop(), 0)
    const { status, json, text } = await asked
    if (transport === 'chat') assert.deepEqual([status, json.error?.code], [503, 'service_unavailable'])
    else assert.match(text, /event: error\nid: .+\ndata: \{"code":"service_unavailable",.*\n\n$/)
    await processRuns.verify()
    assert.equal(await processRuns.model.calls[0]!.ended, 'aborted')

    await processRuns.startAndAnswer('hello', 'one two', idempotencyKey)
  })
}

void test(
  'fault.sigterm-past-drain billing.once: turns that take longer than the drain of one of two processes: the other one completes them, charged once',
  { skip: noFleet() },
  async (t) => {
    const fleet = await Fleet.begin(t, { count: 2, env: { TURNKEEP_DRAIN_SECONDS: '1' } })
    fleet.model.script(['old ', gate(), 'never'], ['old ', gate(), 'never'])
    const sent = (['chat', 'stream'] as const).map((transport) => fleet.sent(`hello ${transport}`, { user: transport, transport }))
    const atFirst = sent.map((one) => fleet.try(one, 0))
    await fleet.model.waitForCalls(2)
    assert.equal(await fleet.leave(0).stop(), 0)
    assert.deepEqual(await Promise.all(atFirst), [
      { kind: 'error', status: 503, code: 'service_unavailable' },
      { kind: 'error', status: 200, code: 'service_unavailable' },
    ])
    const reported = await Promise.all(sent.map((one) => fleet.send(one)))
    await fleet.checkReplies(reported)
    assert.equal(fleet.model.calls.length, 4)
    const claimed = await fleet.rows('select distinct attempt from turns')
    assert.deepEqual(claimed, [{ attempt: '2' }])
  },
)
