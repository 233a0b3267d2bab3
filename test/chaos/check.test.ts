/** Tests the checker: a valid history has no violation, and each kind of violation is reported by the check that is named for it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { accessWays } from './broken-access.ts'
import { Broken, ways as otherWays } from './broken-histories.ts'
import { check, resolutions } from './check.ts'
import type { CheckName } from './check.ts'
import { soundHistory } from './sound-history.ts'

const ways = [...otherWays, ...accessWays]

void describe('the checker', () => {
  void test('finds nothing in a history in which every promise is kept', () => {
    assert.deepEqual(check(soundHistory()), [])
  })

  for (const [name, what, corrupt] of ways) {
    void test(`${name} tells ${what}`, () => {
      const history = new Broken()
      corrupt(history)
      const violations = check(history.events)
      assert.deepEqual([...new Set(violations.map((violation) => violation.check))], [name], JSON.stringify(violations, null, 1))
      assert.ok(violations.every(({ events, what: reported }) => events.length > 0 && reported !== ''))
    })
  }

  void test('has one way at least to break what each check is named for', () => {
    const all: CheckName[] = [
      'H1',
      'H2',
      'H3',
      'H4',
      'H5',
      'H6',
      'H7',
      'H8',
      'H9',
      'H10',
      'H11',
      'H12',
      'money',
      'tools',
      'envelope',
      'own',
      'operator',
      'calm',
      'resume',
      'cancel',
      'background',
      'feedback',
      'webhooks',
      'spend-limit',
      'access',
      'unfair',
    ]
    assert.deepEqual(
      all.filter((name) => !ways.some(([way]) => way === name)),
      [],
    )
  })

  void test('reports for each key when it was final and the errors before it', () => {
    const of = (name: string) => resolutions(soundHistory()).find(({ message }) => message.startsWith(`${name} `))!
    assert.deepEqual(of('orphan').met, ['broken', 'idempotency_in_progress'])
    assert.equal(of('orphan').end, 'reply')
    assert.ok(of('orphan').finalAt! > of('orphan').openedAt)
    assert.deepEqual([of('four').end, of('four').finalAt], ['open', undefined])
    assert.deepEqual([of('off').end, of('off').met], ['agent_disabled', []])
  })
})
