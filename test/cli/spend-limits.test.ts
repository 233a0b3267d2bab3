/** `turnkeep limit` and the spend limits of `turnkeep apply`, against the real service. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

let app: TestApp
before(async () => {
  app = await startTestApp()
})
after(() => app.close())

const turnkeep = (...args: string[]): Promise<Ran> => runCommand(args, { TURNKEEP_PUBLIC_URL: app.url, TURNKEEP_ADMIN_TOKEN: adminToken })
const limitsOf = async (): Promise<unknown> => (await app.made('GET', `/agents/${app.caller.agentId}`))['spend_limits']

test('billing.spend-limit: limit set, list, remove and reset change one limit at a time, of the agent or of one end user', async () => {
  const { agentId } = app.caller
  assert.equal((await turnkeep('limit', 'list', agentId)).stderr, 'No limits.\n')
  const set = await turnkeep('limit', 'set', agentId, '--scope', 'end_user', '--window', 'day', '--usd', '1.00')
  assert.deepEqual([set.code, set.stderr], [0, ''])
  const low = await turnkeep('limit', 'set', agentId, '--scope', 'agent', '--window', 'total', '--usd', '0.00000001')
  assert.match(low.stderr, /^Warning: The limit of 0\.00000001 USD \(agent, total\) rejects every message, because a turn holds at least /m)
  assert.equal((await turnkeep('limit', 'remove', agentId, '--scope', 'agent', '--window', 'total')).code, 0)
  assert.match(set.stdout, /^end_user +day +1\.00$/m)
  await turnkeep('limit', 'set', agentId, '--scope', 'agent', '--window', 'month', '--usd', '100')
  await turnkeep('limit', 'set', agentId, '--scope', 'end_user', '--window', 'day', '--usd', '2')
  assert.deepEqual(await limitsOf(), [
    { scope: 'agent', usd: '100.00000000', window: 'month' },
    { scope: 'end_user', usd: '2.00000000', window: 'day' },
  ])
  const { json } = await app.chat('hi', { user: 'ann' })
  const own = await turnkeep('limit', 'set', agentId, '--user', 'ann', '--window', 'day', '--usd', json.usage.charged_usd)
  assert.match(own.stdout, new RegExp(`^end_user +day +${json.usage.charged_usd}$`, 'm'))
  const listed = await turnkeep('limit', 'list', agentId, '--user', 'ann')
  assert.match(listed.stdout, new RegExp(`^end_user +day +100 % +${json.usage.charged_usd} +${json.usage.charged_usd} .* ann$`, 'm'))
  assert.match(listed.stdout, /^agent +month +0 % +100\.00/m)
  const asJson = JSON.parse((await turnkeep('limit', 'list', agentId, '--json')).stdout)
  assert.deepEqual([asJson.spend_limits.length, asJson.spending.length], [2, 2])
  assert.equal((await app.chat('hi', { user: 'ann' })).json.error.code, 'spend_limit_exceeded')
  assert.equal((await turnkeep('limit', 'reset', agentId, 'ann')).stderr, `The limits of agent ${agentId} apply to ann\n`)
  assert.equal((await app.chat('hi', { user: 'ann' })).status, 200)
  await turnkeep('limit', 'remove', agentId, '--scope', 'end_user', '--window', 'day')
  assert.deepEqual(await limitsOf(), [{ scope: 'agent', usd: '100.00000000', window: 'month' }])
  const without = await turnkeep('limit', 'set', agentId, '--window', 'day', '--usd', '1')
  assert.deepEqual([without.code, without.stderr], [2, 'turnkeep: --scope is required: one of end_user, api_key, agent\n'])
})

test('billing.spend-limit: apply declares the limits of an agent, shows what changes, and creates no version for them', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-limits-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'turnkeep.yaml')
  const declare = (limits: string): void =>
    writeFileSync(
      file,
      `owners:\n  - name: Limited\n    agents:\n      - name: Support\n        model: demo/demo\n        system_prompt: You help.\n        spend_limits:${limits}\n`,
    )
  declare('\n          - {scope: end_user, usd: 5.00, window: day}\n          - {scope: agent, usd: "200", window: month}')
  const first = await turnkeep('apply', '-f', file, '--yes')
  assert.equal(first.code, 0, first.stderr)
  const agent = (await app.made('GET', '/agents'))['data'].find(({ name }: { name: string }) => name === 'Support')
  const stored = async () => app.made('GET', `/agents/${agent.id}`)
  assert.deepEqual((await stored())['spend_limits'], [
    { scope: 'end_user', usd: '5.00000000', window: 'day' },
    { scope: 'agent', usd: '200.00000000', window: 'month' },
  ])
  assert.match((await turnkeep('apply', '-f', file, '--yes')).stdout, /No changes\./)
  declare(' []')
  const removed = await turnkeep('apply', '-f', file, '--yes')
  assert.match(removed.stdout, /spend_limits/)
  const now = await stored()
  assert.deepEqual([now['spend_limits'], now['version']], [[], 1])
  declare('\n          - {scope: user, usd: 5, window: week}')
  const wrong = await turnkeep('apply', '-f', file, '--yes')
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /scope must be one of end_user, api_key, agent/)
  assert.match(wrong.stderr, /window must be one of day, month, total/)
})
