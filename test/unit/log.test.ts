/** What the log contains of an error: enough to find its cause, and nothing of what was being processed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError } from '../../src/agent/models/model.ts'
import { createLog } from '../../src/observability/log.ts'
import { StoreUnavailable } from '../../src/store/store.ts'

function logged(error: unknown): string {
  let text = ''
  createLog('trace', { destination: { write: (line) => void (text += line) } }).error({ err: error }, 'failed')
  return text
}

/** As the driver of PostgreSQL throws it for a row that violates a constraint. */
const rowError = Object.assign(new Error('new row for relation "messages" violates check constraint "text_present"'), {
  code: '23514',
  detail: 'Failing row contains (msg_1, CANARY).',
  where: 'JSON data, line 1: CANARY',
  query: 'CANARY',
  constraint: 'text_present',
})

test('log.cause-kind: an error is logged with type, message, code and stack, and without the data that its fields contain', () => {
  const { err } = JSON.parse(logged(rowError))
  assert.deepEqual([err.type, err.message, err.code, err.constraint], ['Error', rowError.message, '23514', 'text_present'])
  assert.match(err.stack, /^Error: new row .*\n {4}at .*log\.test\.ts/)
  const parsed = ((): unknown => {
    try {
      return JSON.parse('CANARY of a user')
    } catch (error) {
      return error
    }
  })()
  const refused = new ModelError('refused', 'provider_400', 'the model server returned status 400', { said: 'CANARY', cause: rowError })
  const outer = new Error('could not settle', { cause: refused })
  for (const error of [
    rowError,
    parsed,
    refused,
    outer,
    'CANARY',
    { message: 'CANARY' },
    Object.assign(new Error('x'), { requestBodyValues: 'CANARY' }),
  ])
    assert.doesNotMatch(logged(error), /CANARY/)
  assert.match(logged(parsed), /SyntaxError/)
  assert.equal(JSON.parse(logged(outer)).err.cause.cause.code, '23514', 'causes are logged, too')
  const away = JSON.parse(logged(new StoreUnavailable('database or disk is full'))).err
  assert.deepEqual([away.type, away.stack.split('\n')[0]], ['StoreUnavailable', 'StoreUnavailable: database or disk is full'])
})
