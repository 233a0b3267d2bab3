/**
 * kill -9 between a tool and the journal, at every named point of a turn with one tool call, in a separate process on either store. After a
 * restart and a retry with the same key, a tool with side effects has been called at most once, or the turn has failed. A tool without side
 * effects is called again with the same key. A call with a price is charged once (`billing.tool-price`).
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { FailpointName } from '../../src/failpoints.ts'
import { gate } from '../support/model-server.ts'
import { call, missing, ToolProcessRuns } from '../support/tool-process-runs.ts'
import type { StoreKind } from '../support/tool-process-runs.ts'

type Killed = {
  point: FailpointName
  /** How many times the point is reached before it acts. */
  at?: number
  tool: 'book' | 'look'
  what: string
  toolCalls: number
  modelCalls: number
  /** The status of the turn in the end. */
  status: 200 | 500
}

/**
 * The three commits of a journal. 1: the step and the calls that start. 2: the end of a call with side effects, otherwise the next step. 3:
 * the next step.
 */
const killed: Killed[] = [
  { point: 'advance.before-commit', tool: 'book', what: 'nothing was journaled', toolCalls: 1, modelCalls: 3, status: 200 },
  { point: 'advance.after-commit', tool: 'book', what: 'started, outcome unknown', toolCalls: 0, modelCalls: 1, status: 500 },
  { point: 'tool.before-call', tool: 'book', what: 'started, outcome unknown', toolCalls: 0, modelCalls: 1, status: 500 },
  { point: 'tool.after-call', tool: 'book', what: 'called, outcome unknown', toolCalls: 1, modelCalls: 1, status: 500 },
  { point: 'advance.before-commit', at: 2, tool: 'book', what: 'called, outcome unknown', toolCalls: 1, modelCalls: 1, status: 500 },
  { point: 'advance.after-commit', at: 2, tool: 'book', what: 'the finish is durable', toolCalls: 1, modelCalls: 2, status: 200 },
  { point: 'tool.after-journal', tool: 'book', what: 'the finish is durable', toolCalls: 1, modelCalls: 2, status: 200 },
  { point: 'advance.after-commit', at: 3, tool: 'book', what: 'the next step is held', toolCalls: 1, modelCalls: 2, status: 200 },
  { point: 'settle.before-commit', tool: 'book', what: 'the reply is generated', toolCalls: 1, modelCalls: 3, status: 200 },
  { point: 'settle.after-commit', tool: 'book', what: 'the reply is stored', toolCalls: 1, modelCalls: 2, status: 200 },
  { point: 'advance.before-commit', tool: 'look', what: 'nothing was journaled', toolCalls: 1, modelCalls: 3, status: 200 },
  { point: 'tool.before-call', tool: 'look', what: 'the step is journaled', toolCalls: 1, modelCalls: 2, status: 200 },
  { point: 'tool.after-call', tool: 'look', what: 'called again', toolCalls: 2, modelCalls: 2, status: 200 },
  { point: 'advance.before-commit', at: 2, tool: 'look', what: 'called again', toolCalls: 2, modelCalls: 2, status: 200 },
  { point: 'advance.after-commit', at: 2, tool: 'look', what: 'the finish is durable', toolCalls: 1, modelCalls: 2, status: 200 },
  { point: 'settle.before-commit', tool: 'look', what: 'the reply is generated', toolCalls: 1, modelCalls: 3, status: 200 },
]

const usage = { usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } }

/** Scripts a model that calls the tool once and then repeats its result. Every call of the tool gets the same reply. */
export function scriptOneCall(processRuns: ToolProcessRuns, tool: string): void {
  processRuns.model.when(/./, [call(tool, { day: 'Monday' }), usage])
  processRuns.model.when(
    ({ messages }) => messages.some(({ role }) => role === 'tool'),
    ({ messages }) => [`It said: ${messages.at(-1)!.content}`, usage],
  )
}

async function killAndRetry(
  t: TestContext,
  store: StoreKind,
  { point, at = 1, tool, toolCalls, modelCalls, status }: Killed,
): Promise<void> {
  const processRuns = await ToolProcessRuns.begin(t, { store, failpoints: `${point}=kill@${at}` })
  scriptOneCall(processRuns, tool)
  const key = randomUUID()
  assert.equal(await processRuns.send('do it', key), undefined)
  assert.equal((await processRuns.server!.exited).signal, 'SIGKILL')
  await processRuns.restart()
  const answer = await processRuns.retry('do it', key)
  assert.equal(answer.status, status, answer.text)
  assert.equal(processRuns.tools.calls.length, toolCalls, 'calls of the tool')
  assert.equal(processRuns.model.calls.length, modelCalls, 'calls of the model')
  const requestId = status === 200 ? answer.json.request_id : answer.json.error.request_id
  for (const { idempotencyKey } of processRuns.tools.calls) assert.equal(idempotencyKey, `${requestId}:1:1`)
  assert.equal(await processRuns.charges(), status === 200 ? 1 : 0)
  if (status === 200) {
    assert.match(answer.json.message.content, new RegExp(`^It said: .*/${tool} done, call ${toolCalls}`, 's'))
    assert.deepEqual([answer.json.usage.prompt_tokens, answer.json.usage.completion_tokens], [200, 20], 'each step counts once')
    // `billing.tool-price`: also if the call was in the journal, or was made twice because its end was not.
    const { usage } = await processRuns.client.made('GET', `/turns/${requestId}`)
    assert.equal(usage.tool_calls_usd, '0.01000000', 'the call is charged once')
  } else {
    assert.equal(answer.json.error.code, 'internal_error')
    const turn = await processRuns.client.made('GET', `/turns/${requestId}`)
    assert.deepEqual([turn.state, turn.failure.code], ['failed', 'internal_error'])
    assert.match(turn.failure.cause, /side effects/)
    assert.deepEqual((await processRuns.retry('do it', key)).json, answer.json, 'and stays so')
  }
  assert.equal((await processRuns.client.messages()).length, status === 200 ? 2 : 0)
  assert.equal(processRuns.tools.calls.length, toolCalls)
  await processRuns.verify()
}

/** Tests every kill on one store. */
export function testKills(store: StoreKind): void {
  for (const one of killed) {
    const { point, at, tool, what, toolCalls, status } = one
    const kind = tool === 'book' ? 'a tool with side effects' : 'a tool without'
    void test(
      `tools.journal billing.tool-price: kill -9 at ${point}${at ? ` ${at}` : ''} of ${kind} on ${store} (${what}): ${toolCalls} calls, then ${status}`,
      { skip: missing(store) },
      (t) => killAndRetry(t, store, one),
    )
  }

  void test(
    `tools.journal: kill -9 with one of three calls finished on ${store}: a finished one is not made again, one without side effects is`,
    { skip: missing(store) },
    async (t) => {
      // The end of `book` is the second commit; `look` is held until the process is dead.
      const processRuns = await ToolProcessRuns.begin(t, { store, failpoints: 'tool.after-journal=kill' })
      const held = gate()
      processRuns.tools.when('/look', held)
      processRuns.model.when(/./, [
        call('book', { day: 'Monday' }, 'a'),
        call('look', { day: 'Monday' }, 'b'),
        call('look', { day: 'Tuesday' }, 'c'),
      ])
      processRuns.model.when(({ messages }) => messages.some(({ role }) => role === 'tool'), 'All done.')
      const key = randomUUID()
      assert.equal(await processRuns.send('do all', key), undefined)
      held.open()
      await processRuns.restart()
      const answer = await processRuns.retry('do all', key)
      assert.equal(answer.json.message?.content, 'All done.', answer.text)
      const keys = (path: string): string[] => processRuns.tools.callsOf(path).map(({ idempotencyKey }) => idempotencyKey)
      const keyed = (part: number): string => `${answer.json.request_id}:1:${part}`
      assert.deepEqual(keys('/book'), [keyed(1)])
      assert.deepEqual(new Set(keys('/look')), new Set([keyed(2), keyed(3)]))
      assert.deepEqual(
        processRuns.model.calls.at(-1)!.messages.flatMap(({ role, tool_call_id: id }) => (role === 'tool' ? [id] : [])),
        ['a', 'b', 'c'],
        'the model reads every result, in its order',
      )
      assert.equal(processRuns.model.calls.length, 2)
      assert.equal(await processRuns.charges(), 1)
      await processRuns.verify()
    },
  )
}
