/**
 * kill -9 at every named point of a turn, in a separate process, and a restart on the same data folder. Then a retry with the same key must
 * find one reply, one charge, nothing held, and no broken invariant.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { FailpointName } from '../../src/failpoints.ts'
import { readSnapshot } from '../../src/store/sqlite/sqlite.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { until } from '../support/until.ts'

/**
 * `after`: what happens before the kill. The model is called while the admission is flushed (`turn.durable-first`), so a kill in the model call
 * waits for the admission, and one before the commit waits for the model call. Such a point only stops the process, and the test kills it then.
 * `modelCalls`: in all; two if the first one may have been made.
 */
const killedAt: { point: FailpointName; after?: 'admission' | 'model call'; fault: string; moment: string; modelCalls: number[] }[] = [
  { point: 'admit.before-commit', fault: 'fault.kill-before-admission', moment: 'P0', modelCalls: [1] },
  { point: 'admit.early', after: 'model call', fault: 'fault.kill-before-admission', moment: 'P0', modelCalls: [2] },
  { point: 'model.before-call', after: 'admission', fault: 'fault.kill-before-model', moment: 'P1', modelCalls: [1] },
  { point: 'admit.after-commit', fault: 'fault.kill-before-model', moment: 'P1', modelCalls: [1, 2] },
  { point: 'model.first-delta', after: 'admission', fault: 'fault.kill-mid-stream', moment: 'P2', modelCalls: [2] },
  { point: 'model.delta', after: 'admission', fault: 'fault.kill-mid-stream', moment: 'P2', modelCalls: [2] },
  { point: 'model.done', after: 'admission', fault: 'fault.kill-before-settlement', moment: 'P3', modelCalls: [2] },
  { point: 'settle.before-commit', fault: 'fault.kill-before-settlement', moment: 'P3', modelCalls: [2] },
  { point: 'settle.after-commit', fault: 'fault.kill-after-settlement', moment: 'P4', modelCalls: [1] },
  { point: 'reply.before-send', fault: 'fault.kill-after-settlement', moment: 'P4', modelCalls: [1] },
]

// Much longer than the wait for the kill.
const stops = 'delay:120000'
const poisoned = 'model.before-call=kill if:poison'

const turnsOf = ({ folder }: ProcessRuns): Promise<unknown[]> => readSnapshot(folder, (sql) => sql.all('select 1 from turns'))

/** kill -9 as soon as the process has stopped at the point and this many turns are stored. */
async function killAt(processRuns: ProcessRuns, point: FailpointName, { turns }: { turns: number }): Promise<void> {
  const server = processRuns.server!
  await until(point, () => server.log.some(({ failpoint }) => failpoint === point))
  await until('stored turns', async () => (await turnsOf(processRuns)).length === turns)
  server.child.kill('SIGKILL')
}

// In the fast tier one point per moment, alternating between the two transports.
const isFast = process.env['TEST_TIER'] === 'fast'
const transports = ['chat', 'stream'] as const
const wanted = isFast ? killedAt.filter(({ moment }, at) => killedAt[at - 1]?.moment !== moment) : killedAt

for (const [at, { point, after, fault, moment, modelCalls }] of wanted.entries()) {
  for (const transport of isFast ? [transports[at % 2]!] : transports) {
    void test(`${fault} ${moment} billing.once: kill -9 at ${point} on ${transport}: the retry gets one reply, charged once`, async (t) => {
      const hit = point === 'model.delta' ? '@3' : ''
      const processRuns = await ProcessRuns.begin(t, `${point}=${after === undefined ? 'kill' : stops}${hit}`)
      const idempotencyKey = randomUUID()
      processRuns.model.when('hello', ['one ', 'two ', 'three ', 'four'])
      const rejected = assert.rejects(
        processRuns.client[transport]('hello', { idempotencyKey })
          .then((answer) => assert.equal(answer.text.includes('completed'), false))
          .then(dropped),
      )
      if (after === 'model call') await processRuns.model.waitForCalls(1)
      if (after !== undefined) await killAt(processRuns, point, { turns: after === 'admission' ? 1 : 0 })
      await rejected
      assert.equal((await processRuns.server!.exited).signal, 'SIGKILL')
      await processRuns.verify()
      // `verify` checks that nothing is held for a turn that does not exist.
      const left = await turnsOf(processRuns)
      assert.equal(left.length, moment === 'P0' ? 0 : 1, 'what was not admitted has left no row')
      await processRuns.start()
      const answer = await processRuns.retry('hello', { idempotencyKey })
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.json.message.content, 'one two three four')
      assert.ok(modelCalls.includes(processRuns.model.calls.length), `${processRuns.model.calls.length} model calls`)
      assert.equal(await processRuns.charges(), 1)
      assert.deepEqual(
        (await processRuns.client.messages()).map(({ content }) => content),
        ['hello', 'one two three four'],
      )
      assert.equal((await processRuns.client.owner()).held_usd, '0.00000000')
      await processRuns.verify()
    })
  }
}

void test('fault.kill-before-settlement turn.states: kill -9 after a journaled step: the restart continues from it, and it is neither charged nor run again', async (t) => {
  const processRuns = await ProcessRuns.begin(t, 'advance.after-commit=kill')
  const idempotencyKey = randomUUID()
  const usage = { usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } }
  // The first answer has no text, so it is journaled and the model is called once more.
  processRuns.model.script([usage], ['second', usage])
  await assert.rejects(processRuns.client.chat('hello', { idempotencyKey }))
  await processRuns.server!.exited
  await processRuns.verify()
  await processRuns.start()
  const { json } = await processRuns.retry('hello', { idempotencyKey })
  assert.equal(json.message.content, 'second')
  assert.equal(processRuns.model.calls.length, 2, 'the first step was not asked again')
  assert.deepEqual([json.usage.prompt_tokens, json.usage.completion_tokens], [200, 20], 'and counts')
  await processRuns.verify()
})

void test('unavailable.unknown billing.once: a settlement that cannot be stored is 503, then the same key gets its one reply', async (t) => {
  const processRuns = await ProcessRuns.begin(t, 'settle.before-commit=throw')
  const idempotencyKey = randomUUID()
  processRuns.model.when('hello', ['one ', 'two'])
  const unknown = await processRuns.client.chat('hello', { idempotencyKey })
  assert.deepEqual([unknown.status, unknown.json.error?.code], [503, 'service_unavailable'], unknown.text)
  assert.equal(await processRuns.charges(), 0)
  await processRuns.server!.kill()
  await processRuns.start()
  const answer = await processRuns.retry('hello', { idempotencyKey })
  assert.deepEqual([answer.status, answer.json.request_id], [200, unknown.json.error.request_id])
  assert.equal(await processRuns.charges(), 1)
  await processRuns.verify()
})

void test('fault.kill-in-recovery: kill -9 in recovery itself, again and again: three attempts, then failed, nothing charged or held', async (t) => {
  const processRuns = await ProcessRuns.begin(t, `model.before-call=${stops}`)
  const idempotencyKey = randomUUID()
  const rejected = assert.rejects(processRuns.client.chat('hello', { idempotencyKey }))
  await killAt(processRuns, 'model.before-call', { turns: 1 })
  await rejected
  await processRuns.server!.exited
  for (let attempt = 2; attempt <= 3; attempt++) {
    await processRuns.start('recovery.before-run=kill').catch(() => undefined)
    await processRuns.server!.exited
    await processRuns.verify()
  }
  await processRuns.start()
  const answer = await processRuns.retry('hello', { idempotencyKey })
  assert.deepEqual([answer.status, answer.json.error.code], [500, 'internal_error'])
  assert.equal(processRuns.model.calls.length, 0)
  assert.equal(await processRuns.charges(), 0)
  assert.equal((await processRuns.client.owner()).held_usd, '0.00000000')
  await processRuns.verify()
})

void test('fault.poison-turn: a poison turn kills its process each time: it fails after three attempts, and the others are answered', async (t) => {
  const processRuns = await ProcessRuns.begin(t, `model.before-call=${stops} if:poison`)
  const others = [1, 2, 3].map((n) => ({ message: `hello ${n}`, idempotencyKey: randomUUID(), user: `user-${n}` }))
  const poison = randomUUID()
  processRuns.model.when('hello', ['fine'])
  const sent = others.map(({ message, ...options }) => processRuns.client.chat(message, options).catch(() => undefined))
  sent.push(processRuns.client.chat('poison', { idempotencyKey: poison, user: 'mallory' }).catch(() => undefined))
  await killAt(processRuns, 'model.before-call', { turns: sent.length })
  await Promise.all(sent)
  let deaths = 1
  await processRuns.server!.exited
  for (; deaths < 10; deaths++) {
    const started = await processRuns.start(poisoned).then(
      () => true,
      () => false,
    )
    if (!started) continue
    const answer = await processRuns.client.chat('poison', { idempotencyKey: poison, user: 'mallory' }).catch(() => undefined)
    const final =
      answer?.status === 409
        ? await processRuns.retry('poison', { idempotencyKey: poison, user: 'mallory' }).catch(() => undefined)
        : answer
    if (final?.status === 500) break
    await processRuns.server!.exited
  }
  assert.equal(deaths, 3, 'three deaths, no more')
  // One of them may still be running when the poison turn has failed.
  for (const { message, ...options } of others) assert.equal((await processRuns.retry(message, options)).status, 200)
  assert.equal(await processRuns.charges(), 3)
  await processRuns.verify()
})

const dropped = (): never => {
  throw new Error('the connection ended without a completed answer')
}
