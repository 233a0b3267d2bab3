/** Runs tool-kills.ts on SQLite and tests what a drain does to a running tool call. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { gate } from '../support/model-server.ts'
import { ToolProcessRuns } from '../support/tool-process-runs.ts'
import { scriptOneCall, testKills } from './tool-kills.ts'

testKills('sqlite')

void test('fault.sigterm tools.journal: SIGTERM while a tool is called: the turn is finished, then the process exits with 0', async (t) => {
  const processRuns = await ToolProcessRuns.begin(t, { store: 'sqlite' })
  scriptOneCall(processRuns, 'book')
  const held = gate()
  processRuns.tools.when('/book', held)
  const key = randomUUID()
  const sent = processRuns.send('do it', key)
  await held.reached
  const stopped = processRuns.server!.stop()
  held.open()
  const answer = await sent
  assert.equal(answer?.status, 200, answer?.text)
  assert.equal(await stopped, 0)
  await processRuns.restart()
  assert.deepEqual((await processRuns.retry('do it', key)).json, answer.json)
  assert.equal(processRuns.tools.calls.length, 1)
  await processRuns.verify()
})

for (const tool of ['book', 'look'] as const) {
  const outcome = tool === 'book' ? 'with side effects: the turn has failed' : 'without: it is called again, with its key'
  void test(`fault.sigterm-past-drain tools.journal: a drain ends while a tool is called, ${outcome}`, async (t) => {
    const processRuns = await ToolProcessRuns.begin(t, { store: 'sqlite', env: { TURNKEEP_DRAIN_SECONDS: '1' } })
    scriptOneCall(processRuns, tool)
    const held = gate()
    processRuns.tools.when(`/${tool}`, held)
    const key = randomUUID()
    const sent = processRuns.client.chat('do it', { idempotencyKey: key })
    await held.reached
    const stopped = processRuns.server!.stop()
    assert.equal((await sent).json.error?.code, 'service_unavailable')
    assert.equal(await stopped, 0)
    held.open()
    await processRuns.restart()
    const answer = await processRuns.retry('do it', key)
    assert.equal(answer.status, tool === 'book' ? 500 : 200, answer.text)
    assert.equal(processRuns.tools.calls.length, tool === 'book' ? 1 : 2)
    assert.equal(new Set(processRuns.tools.calls.map(({ idempotencyKey }) => idempotencyKey)).size, 1)
    assert.equal(await processRuns.charges(), tool === 'book' ? 0 : 1)
    await processRuns.verify()
  })
}
