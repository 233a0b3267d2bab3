/** Interleavings of a drain, a claim and an admission: each turn runs once, and in one process at a time. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { gate, startModelServer } from '../support/model-server.ts'
import { makeFolder, startTestApp } from '../support/test-app.ts'

void test('fault.event-loop-blocked running_has_lease: a commit that takes longer than a lease: its turn is not claimed by the same process', async () => {
  await using app = await startTestApp({
    env: { TURNKEEP_FAILPOINTS: 'admit.after-commit=delay:400' },
    turnSettings: { leaseMs: 100, renewMs: 50 },
  })
  const { status, json } = await app.chat('hi')
  assert.equal(status, 200, JSON.stringify(json))
  assert.equal(app.model.calls.length, 1, 'the model was asked once')
  await app.verify()
})

void test('turn.states: a process that is always full still recovers the turns of a dead one', async (t) => {
  const folder = await makeFolder()
  const model = await startModelServer()
  t.after(() => model.close())
  const idempotencyKey = randomUUID()
  const first = await startTestApp({ folder, model, env: { TURNKEEP_DRAIN_SECONDS: '0' } })
  const lost = gate()
  model.script([lost, 'never'])
  const given = first.chat('orphan', { idempotencyKey })
  await lost.reached
  await first.close()
  await given
  const full = gate()
  model.when('fill', [full, 'x'])
  // The orphan's first claim comes too early to be served: its model call is held as well, until the process is full.
  const second = await startTestApp({ folder, model, seeded: first, env: { TURNKEEP_MAX_TURNS: '1' }, turnSettings: { renewMs: 50 } })
  t.after(() => second.close())
  const filling = second.chat('fill', { user: 'filler' })
  let answer = await second.chat('orphan', { idempotencyKey })
  while (answer.status === 409) answer = await second.chat('orphan', { idempotencyKey })
  assert.equal(answer.status, 200, answer.text)
  full.open()
  await filling
  await second.verify()
})
