/** The filters of the audit log in the console: the address of the page and the request are the same selection. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFiltered, queryOf, readAsked, writeAsked } from '../../packages/console/src/pages/operations/audit-asked.ts'
import type { Asked } from '../../packages/console/src/pages/operations/audit-asked.ts'

const none: Asked = { who: '', authorId: '', verb: '', noun: '', subjectId: '', from: '', to: '' }

void test('console audit: the address has the filters and keeps what else it has', () => {
  const asked: Asked = { ...none, who: 'operator', noun: 'agent', subjectId: 'agt_1', from: '2026-11-01', to: '2026-11-30' }
  const address = writeAsked(asked, new URLSearchParams('tab=audit&verb=read'))
  assert.equal(String(address), 'tab=audit&who=operator&noun=agent&subject_id=agt_1&from=2026-11-01&to=2026-11-30')
  assert.deepEqual(readAsked(address), asked)
  assert.equal(String(writeAsked(none, address)), 'tab=audit')
})

void test('console audit: the request includes the last day, and an address with invalid values is not filtered by them', () => {
  assert.deepEqual(queryOf({ ...none, verb: 'read', to: '2026-11-30' }), { verb: 'read', to: '2026-12-01' })
  assert.deepEqual(readAsked(new URLSearchParams('who=toString&from=yesterday&to=2026-13-01&verb=read')), { ...none, verb: 'read' })
  assert.deepEqual(readAsked(new URLSearchParams('from=2026-02-31&to=2026-03-01')), { ...none, to: '2026-03-01' })
  assert.deepEqual([isFiltered(none), isFiltered({ ...none, from: '2026-11-01' })], [false, true])
})
