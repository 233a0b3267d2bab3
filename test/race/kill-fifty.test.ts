/**
 * Fifty kill -9 at seeded moments of a stream, one data folder through fifty-one process runs. Each message gets one reply and one charge
 * within 15 s, and every invariant holds after each. `SEED=n` repeats a run.
 */
import assert from 'node:assert/strict'
import { hash, randomInt, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { ProcessRuns } from '../support/process-runs.ts'
import { gate } from '../support/model-server.ts'
import type { Part } from '../support/model-server.ts'

const kills = 50
const pieces = Array.from({ length: 20 }, (_, index) => `piece ${index} `)
const reply = pieces.join('')
// An orphan is answered within 15 s. On the embedded store, recovery starts right after the process.
const maxMs = 15_000

void test('fault.kill-mid-stream turn.states: fifty kill -9 at seeded moments of a stream: each message one reply and one charge, verify clean after each', async (t) => {
  const seed = Number(process.env['SEED'] ?? randomInt(1_000_000))
  t.diagnostic(`SEED=${seed}`)
  const random = seededRandom(seed)
  const processRuns = await ProcessRuns.begin(t)
  const waits: number[] = []
  for (let kill = 0; kill < kills; kill++) {
    const message = `message ${kill}`
    const user = `user-${kill % 5}`
    const idempotencyKey = randomUUID()
    // 0: right after `response.created`; 1 to 20: after that many deltas; 21: during the milliseconds of the settlement.
    const moment = Math.floor(random() * (pieces.length + 2))
    const held = gate()
    const first: Part[] = moment > pieces.length ? pieces : [...pieces.slice(0, moment), held, ...pieces.slice(moment)]
    let calls = 0
    processRuns.model.when(
      (call) => call.lastUserMessage === message,
      () => (calls++ === 0 ? first : pieces),
    )
    await killAtMoment(processRuns, { message, user, idempotencyKey, moment, jitterMs: random() * 8 })
    held.open()
    await processRuns.verify()

    const killedAt = performance.now()
    await processRuns.start()
    const answer = await processRuns.retry(message, { idempotencyKey, user })
    waits.push(performance.now() - killedAt)
    assert.equal(answer.status, 200, `kill ${kill} at moment ${moment}: ${answer.text}`)
    assert.equal(answer.json.message.content, reply)
    assert.ok(waits.at(-1)! <= maxMs, `answered after ${waits.at(-1)} ms`)
    assert.ok(calls <= 2, `the model was called ${calls} times`)
    await processRuns.verify()
  }
  assert.equal(await processRuns.charges(), kills)
  for (let user = 0; user < 5; user++) {
    const messages = await processRuns.client.messages(`user-${user}`)
    const expected = Array.from({ length: kills / 5 }, (_, round) => [`message ${round * 5 + user}`, reply]).flat()
    assert.deepEqual(
      messages.map(({ content }) => content),
      expected,
    )
  }
  waits.sort((a, b) => a - b)
  t.diagnostic(`kill to reply: median ${Math.round(waits[kills / 2]!)} ms, longest ${Math.round(waits.at(-1)!)} ms`)
})

type Kill = { message: string; user: string; idempotencyKey: string; moment: number; jitterMs: number }

/** Streams the message and kills the server at the given moment. The stream never completes unless the kill came after its settlement. */
async function killAtMoment(processRuns: ProcessRuns, { message, user, idempotencyKey, moment, jitterMs }: Kill): Promise<void> {
  const response = await processRuns.client.chatRequest({ external_user_id: user, message }, { idempotencyKey, path: 'chat/stream' })
  assert.equal(response.status, 200)
  let text = ''
  try {
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      text += part
      const seen = text.split('event: response.output_text.delta').length - 1
      if (moment > pieces.length ? seen > 0 : seen >= moment && text.includes('response.created')) break
    }
  } catch {
    assert.fail('the stream broke before its server was killed')
  }
  if (moment > pieces.length) busyWait(jitterMs)
  await processRuns.server!.kill()
}

/** Waits for a fraction of a millisecond without yielding the thread, so that the kill falls at some point of the settlement. */
function busyWait(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

/** Seeded random numbers: at least 0 and below 1. */
function seededRandom(seed: number): () => number {
  let count = 0
  return () => hash('sha256', `${seed} ${count++}`, 'buffer').readUInt32BE() / 2 ** 32
}
