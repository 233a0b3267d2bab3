/** The trace of a turn that another process finished after kill -9, on both stores. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Json } from '../support/test-app.ts'
import { call, missing, ToolProcessRuns } from '../support/tool-process-runs.ts'
import type { StoreKind } from '../support/tool-process-runs.ts'

const spansOf = (trace: Json, type: string): Json[] => trace['spans'].filter((span: Json) => span['type'] === type)

for (const store of ['sqlite', 'postgres'] satisfies StoreKind[]) {
  void test(
    `trace.stored: ${store}: the attempt that died is shown with its part of the journal, the other with its trace`,
    {
      skip: missing(store),
    },
    async (t) => {
      const processRuns = await ToolProcessRuns.begin(t, { store, failpoints: 'tool.after-journal=kill' })
      processRuns.model.script(['One moment.', call('book', { day: 'Monday' })], 'Booked for Monday.')
      const key = randomUUID()
      const message = 'book Monday'
      assert.equal(await processRuns.client.chat(message, { idempotencyKey: key }).catch(() => undefined), undefined)
      await processRuns.restart()
      const { json } = await processRuns.retry(message, key)
      assert.equal(json['message']?.content, 'One moment.\n\nBooked for Monday.')
      const trace = await processRuns.client.made('GET', `/turns/${json['request_id']}/trace`)
      assert.deepEqual([trace['status'], trace['run'], trace['message'], trace['complete']], ['completed', 1, message, true])
      assert.deepEqual(
        spansOf(trace, 'attempt').map(({ attempt, end }) => [attempt, end]),
        [
          [1, 'process_died'],
          [2, 'completed'],
        ],
      )
      assert.deepEqual(
        spansOf(trace, 'model_call').map(({ attempt, step, recorded, text }) => [attempt, step, recorded, text]),
        [
          [1, 1, 'journal', 'One moment.'],
          [2, 2, 'trace', 'Booked for Monday.'],
        ],
      )
      assert.deepEqual(
        spansOf(trace, 'tool_call').map(({ attempt, name, status, journal, recorded }) => [attempt, name, status, journal, recorded]),
        [[1, 'book', 'answered', 'finished', 'journal']],
      )
      const prompt = spansOf(trace, 'model_call')[1]!['messages'] as Json[]
      assert.deepEqual(
        prompt.map(({ role }) => role),
        ['system', 'user', 'assistant', 'tool'],
      )
      assert.equal(prompt.at(-1)!['content'], processRuns.model.calls.at(-1)!.messages.at(-1)!.content)
      assert.ok(spansOf(trace, 'attempt')[1]!['start_ms'] > 0, 'after the first attempt')
      await processRuns.verify()
    },
  )
}
