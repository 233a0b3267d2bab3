/** What `turnkeep apply` changes of an owner that exists: its low balance. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'
import { ApplyFixture } from './apply-fixture.ts'

let app: TestApp
let fixture: ApplyFixture
before(async () => {
  app = await startTestApp()
  fixture = new ApplyFixture(app)
})
after(async () => {
  fixture[Symbol.dispose]()
  await app.close()
})

const owner = (field = ''): string => `owners: [{ name: Low Ltd, balance_usd: 10, ${field} }]\n`
const lowOf = async (): Promise<unknown> => (await fixture.one('/owners', 'Low Ltd'))['low_balance_usd']

test('a low balance is set with a new owner, compared as an amount, changed, left alone and cleared', async () => {
  const made = await fixture.applied(owner('low_balance_usd: 5'))
  assert.match(made.stdout, /^\+ owner Low Ltd\n {6}balance_usd: 10\.00\n {6}low_balance_usd: 5\.00\n/m)
  assert.equal(await lowOf(), '5.00000000')
  assert.match((await fixture.applied(owner("low_balance_usd: '5.00'"))).stdout, /^No changes\./)
  const changed = await fixture.applied(owner('low_balance_usd: 2.5'))
  assert.match(changed.stdout, /^~ owner Low Ltd\n {6}low_balance_usd: 5\.00 → 2\.50\n/m)
  assert.equal(await lowOf(), '2.50000000')
  assert.match((await fixture.applied(owner())).stdout, /^No changes\./)
  assert.equal(await lowOf(), '2.50000000')
  const cleared = await fixture.applied(owner('low_balance_usd: null'))
  assert.match(cleared.stdout, /^ {6}low_balance_usd: 2\.50 → none\n/m)
  assert.equal(await lowOf(), null)
  assert.match((await fixture.applied(owner('low_balance_usd: null'))).stdout, /^No changes\./)
})

test('a new owner may have no low balance, and two files must agree on it', async () => {
  await fixture.applied('owners: [{ name: Plain Ltd, low_balance_usd: null }]\n')
  assert.equal((await fixture.one('/owners', 'Plain Ltd'))['low_balance_usd'], null)
  const other = fixture.write('other.yaml', 'owners: [{ name: Plain Ltd, low_balance_usd: 5 }]\n')
  const { code, stderr } = await fixture.apply(['-f', other])
  assert.equal(code, 2)
  assert.match(stderr, /low_balance_usd of the owner Plain Ltd differs from the value in .*agents\.yaml/)
})
