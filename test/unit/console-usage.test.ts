/** Which time range the console's usage page requests, and how its choices are written in the URL. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAsked, spanOf, writeAsked } from '../../packages/console/src/show/usage-range.ts'

const now = Date.parse('2026-11-22T16:31:07.123Z')
const own = (from: string, to: string) => spanOf({ range: 'own', from, to }, now)

void test('console: a range is whole UTC hours or days, including the current one', () => {
  assert.deepEqual(spanOf({ range: '24h', from: '', to: '' }, now), { bucket: 'hour', from: '2026-11-21T17:00:00.000Z' })
  assert.deepEqual(spanOf({ range: '7d', from: '', to: '' }, now), { bucket: 'day', from: '2026-11-16T00:00:00.000Z' })
  assert.deepEqual(spanOf({ range: '90d', from: '', to: '' }, now), { bucket: 'day', from: '2026-08-25T00:00:00.000Z' })
})

void test('console: a custom range includes both days, by hour if it is short', () => {
  assert.deepEqual(own('2026-11-20', '2026-11-20'), { bucket: 'hour', from: '2026-11-20T00:00:00.000Z', to: '2026-11-21T00:00:00.000Z' })
  assert.deepEqual(own('2026-02-27', '2026-03-02'), { bucket: 'day', from: '2026-02-27T00:00:00.000Z', to: '2026-03-03T00:00:00.000Z' })
  assert.deepEqual(own('', '2026-11-20'), { field: 'from', wrong: 'Choose a start date.' })
  assert.deepEqual(own('2026-11-20', 'soon'), { field: 'to', wrong: 'Choose an end date.' })
  assert.deepEqual(own('2026-02-29', '2026-03-02'), { field: 'from', wrong: 'Choose a start date.' })
  assert.deepEqual(own('2026-11-21', '2026-11-20'), { field: 'to', wrong: 'The end date is before the start date.' })
  assert.deepEqual(own('2025-01-01', '2026-11-20'), { field: 'to', wrong: 'Choose at most 400 days; this range has 689.' })
})

void test('console: the choices are read back from the URL as they were written', () => {
  const asked = {
    range: 'own',
    from: '2026-11-01',
    to: '2026-11-03',
    ownerId: null,
    agentId: 'agt_1',
    keyId: 'key_2',
    externalUserId: 'ann & co',
  } as const
  assert.deepEqual(readAsked(writeAsked(asked)), asked)
  assert.equal(String(writeAsked(asked)), 'range=own&from=2026-11-01&to=2026-11-03&agent_id=agt_1&key_id=key_2&external_user_id=ann+%26+co')
  assert.equal(readAsked(new URLSearchParams('range=century&owner_id=own_1')).range, '7d')
})
