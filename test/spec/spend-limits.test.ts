/** Limits on what an end user, a key or an agent may spend (`billing.spend-limit`). The real server, on both stores. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { parseUsd } from '../../src/ledger/ledger.ts'
import { refused } from '../support/admin-app.ts'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp } from '../support/test-app.ts'

const codeOf = ({ status, json }: Answer): unknown[] => [status, json['error']?.code]
const units = (usd: unknown): bigint => parseUsd(String(usd))!
const usd = (amount: bigint): string => `${amount / 100_000_000n}.${String(amount % 100_000_000n).padStart(8, '0')}`
const limit = (scope: string, amount: string, window = 'day') => ({ scope, usd: amount, window })

// Without history and knowledge, every first step holds the same.
const agent = { max_output_tokens: 100, history: { max_tokens: 0 }, knowledge: { max_tokens: 0, top_k: 0 } }

const setLimits = (app: TestApp, ...spend_limits: object[]): Promise<Json> =>
  app.made('PATCH', `/agents/${app.caller.agentId}`, { spend_limits })
const ownPath = (app: TestApp, user?: string): string =>
  `/agents/${app.caller.agentId}/end-users/limits${user === undefined ? '' : `?external_user_id=${encodeURIComponent(user)}`}`

/** What a turn of one step holds. */
async function holdOf(app: TestApp): Promise<bigint> {
  const held = gate()
  app.model.script([held, 'x'])
  const running = app.chat('hi', { user: 'probe' })
  await held.reached
  const { held_usd: hold } = await app.made('GET', `/owners/${app.caller.ownerId}`)
  held.open()
  await running
  return units(hold)
}

void test('billing.spend-limit: a limit below what a turn holds at least is accepted with a warning, and the smallest hold without one', async () => {
  await using app = await startTestApp({ agent })
  const hold = await holdOf(app)
  const enough = await setLimits(app, limit('agent', usd(hold), 'total'), limit('end_user', usd(hold)))
  assert.deepEqual(enough['warnings'], [])
  const warning = (scope: string, window: string): RegExp =>
    new RegExp(
      `^The limit of ${usd(hold - 1n)} USD \\(${scope}, ${window}\\) rejects every message, because a turn holds at least ${usd(hold)} USD\\.`,
    )
  const low = await setLimits(app, limit('agent', '5', 'total'), limit('end_user', usd(hold - 1n)))
  assert.equal(low['warnings'].length, 1)
  assert.match(low['warnings'][0], warning('end_user', 'day'))
  assert.deepEqual((await app.made('GET', `/agents/${app.caller.agentId}`))['warnings'], low['warnings'])
  assert.deepEqual(codeOf(await app.chat('a', { user: 'ann' })), [402, 'spend_limit_exceeded'])
  const put = (amount: bigint): Promise<Json> =>
    app.made('PUT', ownPath(app), { external_user_id: 'ann', spend_limits: [limit('end_user', usd(amount), 'month')] })
  assert.match((await put(hold - 1n))['warnings'][0], warning('end_user', 'month'))
  assert.deepEqual((await put(hold))['warnings'], [])
  assert.equal((await app.chat('a', { user: 'ann' })).status, 200)
})

void test('billing.spend-limit: over a limit a message is 402 with the seconds to the end of the window, on both transports, and nothing is stored', async () => {
  await using app = await startTestApp({ agent })
  const changed = await setLimits(app, limit('end_user', '0.00000001'), limit('agent', '5', 'month'))
  assert.deepEqual(changed['spend_limits'], [limit('end_user', '0.00000001'), limit('agent', '5.00000000', 'month')])
  assert.equal(changed['version'], 1, 'limits are not part of a version')
  const calls = app.model.calls.length
  for (const transport of ['chat', 'stream'] as const) {
    const now = Date.now()
    const answer = await app[transport]('hi', { user: 'ann' })
    assert.deepEqual(codeOf(answer), [402, 'spend_limit_exceeded'], answer.text)
    const seconds = (86_400_000 - (now % 86_400_000)) / 1000
    const retryAfter = Number(answer.headers.get('retry-after'))
    assert.ok(Math.abs(retryAfter - seconds) < 5 && retryAfter >= 1, `${retryAfter}, not ${seconds}`)
  }
  assert.equal(app.model.calls.length, calls)
  assert.deepEqual(await app.messages('ann'), [])
  await setLimits(app, limit('end_user', '0.00000001', 'total'))
  const never = await app.chat('hi', { user: 'ann' })
  assert.deepEqual([...codeOf(never), never.headers.get('retry-after')], [402, 'spend_limit_exceeded', null])
  // The same key works as soon as the limit allows it.
  const idempotencyKey = randomUUID()
  assert.deepEqual(codeOf(await app.chat('again', { user: 'ann', idempotencyKey })), [402, 'spend_limit_exceeded'])
  await setLimits(app, limit('end_user', '1', 'total'))
  assert.equal((await app.chat('again', { user: 'ann', idempotencyKey })).status, 200)
  const [entry] = await app.ledger()
  const { data } = await app.made('GET', ownPath(app, 'ann')).then((answer) => ({ data: answer['spending'] as Json[] }))
  assert.equal(data[0]!['spent_usd'], String(entry!['amount_usd']).slice(1))
  await app.verify()
})

void test('billing.spend-limit: an end user can have its own limits, which are shown with what is spent and can be removed', async () => {
  await using app = await startTestApp({ agent })
  await setLimits(app, limit('end_user', '0.00000001', 'month'), limit('api_key', '1', 'month'), limit('agent', '2', 'total'))
  assert.deepEqual(codeOf(await app.chat('hi', { user: 'Ann ⁂' })), [402, 'spend_limit_exceeded'])
  const none = await app.made('GET', ownPath(app, 'Ann ⁂'))
  assert.deepEqual([none['spend_limits'], none['updated_at']], [null, null])
  const put = await app.made('PUT', ownPath(app), { external_user_id: 'Ann ⁂', spend_limits: [limit('end_user', '0.50')] })
  assert.deepEqual(put['spend_limits'], [limit('end_user', '0.50000000')])
  assert.equal((await app.chat('hi', { user: 'Ann ⁂' })).status, 200)
  assert.deepEqual(codeOf(await app.chat('hi', { user: 'ben' })), [402, 'spend_limit_exceeded'])
  const { spending } = await app.made('GET', ownPath(app, 'Ann ⁂'))
  const spent = (spending as Json[])[0]!['spent_usd']
  assert.ok(units(spent) > 0n)
  assert.deepEqual(
    (spending as Json[]).map((row) => [row['scope'], row['window'], row['limit_usd'], row['spent_usd'], row['external_user_id']]),
    [
      ['api_key', 'month', '1.00000000', spent, null],
      ['agent', 'total', '2.00000000', spent, null],
      ['end_user', 'day', '0.50000000', spent, 'Ann ⁂'],
    ],
  )
  const listed = (await app.made('GET', `/agents/${app.caller.agentId}/spending`))['data'] as Json[]
  assert.deepEqual(
    listed.map((row) => [row['scope'], row['spent_usd'], row['starts_at'] === null]),
    [
      ['api_key', spent, false],
      ['agent', spent, true],
      ['end_user', spent, false],
    ],
  )
  await app.admin('DELETE', ownPath(app, 'Ann ⁂'))
  assert.deepEqual(codeOf(await app.chat('more', { user: 'Ann ⁂' })), [402, 'spend_limit_exceeded'])
  await app.verify()
})

void test('billing.spend-limit: limits that cannot be meant are refused with their place', async () => {
  await using app = await startTestApp({ agent })
  const patch = (...spend_limits: unknown[]) => app.admin('PATCH', `/agents/${app.caller.agentId}`, { spend_limits })
  await refused(patch(limit('user', '1')), 422, 'validation_error', /spend_limits/)
  await refused(patch(limit('agent', '1', 'week')), 422, 'validation_error', /window/)
  await refused(patch(limit('agent', 'much')), 422, 'validation_error', /spend_limits\.0\.usd/)
  await refused(patch(limit('agent', '-1')), 422, 'validation_error', /spend_limits\.0\.usd must not be negative/)
  await refused(patch(limit('agent', '1'), limit('agent', '2')), 422, 'validation_error', /spend_limits\.1 is the second limit/)
  const put = (spend_limits: unknown, user: unknown = 'ann', agentId = app.caller.agentId) =>
    app.admin('PUT', `/agents/${agentId}/end-users/limits`, { external_user_id: user, spend_limits })
  await refused(put([limit('agent', '1')]), 422, 'validation_error', /spend_limits\.0\.scope must be end_user/)
  await refused(put([], ''), 422, 'validation_error', /external_user_id/)
  await refused(put([], 'ann', 'agt_none'), 404, 'not_found', /agent/)
  await refused(app.admin('GET', `/agents/agt_none/spending`), 404, 'not_found', /agent/)
  await refused(app.admin('DELETE', `/agents/agt_none/end-users/limits?external_user_id=ann`), 404, 'not_found', /agent/)
  await refused(app.admin('GET', ownPath(app)), 422, 'validation_error', /external_user_id/)
  assert.deepEqual((await app.made('GET', `/agents/${app.caller.agentId}`))['spend_limits'], [])
})

void test('billing.spend-limit: a turn whose next step does not fit ends with the code and nothing charged; what it used counts, so the text is bounded by the limit', async () => {
  await using app = await startTestApp({ agent: { ...agent, price: { prompt_usd_per_million: '10', completion_usd_per_million: '20' } } })
  const hold = await holdOf(app)
  const allowed = 4n * hold
  await setLimits(app, limit('end_user', usd(allowed)))
  const text = 'A long and useful answer. '.repeat(12)
  const used = (30n * 10n + 80n * 20n) * 100n
  const calls = Array.from({ length: 3 }, (_, n) => ({ toolCall: { id: `c${n}`, name: 'missing', arguments: '{}' } }))
  app.model.when('continue', [text, ...calls, { usage: { prompt_tokens: 30, completion_tokens: 80, total_tokens: 110 } }])
  let streams = 0
  for (let n = 0; n < 100; n++) {
    const answer = await app.stream('continue', { user: 'ann' })
    const last = answer.events.at(-1)
    if (!last) {
      assert.deepEqual(codeOf(answer), [402, 'spend_limit_exceeded'], answer.text)
      break
    }
    streams++
    assert.deepEqual([last.event, last.data['code']], ['error', 'spend_limit_exceeded'])
  }
  const owner = await app.made('GET', `/owners/${app.caller.ownerId}`)
  assert.ok(streams > 1 && BigInt(streams) * used <= allowed, `${streams} streams of ${used}, ${allowed} allowed`)
  assert.deepEqual([owner['held_usd'], units(owner['unpaid_usd']) >= BigInt(streams) * used], ['0.00000000', true])
  const { spending } = await app.made('GET', ownPath(app, 'ann'))
  assert.equal(units((spending as Json[])[0]!['unpaid_usd']), units(owner['unpaid_usd']))
  // Another user is not affected, and as JSON the end has the same code with the time of the window's end.
  const other = await app.chat('continue', { user: 'ben' })
  assert.deepEqual(codeOf(other), [402, 'spend_limit_exceeded'])
  assert.ok(Number(other.headers.get('retry-after')) >= 1)
  const [turn] = (await app.made('GET', '/turns?status=released'))['data'] as Json[]
  assert.equal(turn!['failure'].code, 'spend_limit_exceeded')
  await app.verify()
})

void test('billing.spend-limit erase: an erasure of an end user removes its limits and its name, in all tables', async () => {
  await using app = await startTestApp({ agent })
  await setLimits(app, limit('end_user', '1', 'total'))
  const user = `named-${randomUUID()}`
  await app.made('PUT', ownPath(app), { external_user_id: user, spend_limits: [limit('end_user', '1', 'total')] })
  assert.equal((await app.chat('hi', { user })).status, 200)
  assert.notEqual(await app.occurrences(user), 0)
  await app.admin('DELETE', `/agents/${app.caller.agentId}/end-users?external_user_id=${user}`)
  const { spend_limits: limits, spending } = await app.made('GET', ownPath(app, user))
  assert.deepEqual([limits, (spending as Json[])[0]!['spent_usd']], [null, '0.00000000'])
  assert.deepEqual(await app.query(`select 1 as one from spending where subject = '${user}'`), [])
  await app.verify()
})

void test('billing.spend-limit erase audit: limits of an end user without a conversation are erased, with an entry in the audit log', async () => {
  await using app = await startTestApp({ agent })
  const user = `named-${randomUUID()}`
  const path = `/agents/${app.caller.agentId}/end-users?external_user_id=${user}`
  const erasures = async (): Promise<Json[]> => (await app.made('GET', '/audit?verb=erase'))['data'] as Json[]
  await app.made('DELETE', path)
  assert.deepEqual(await erasures(), [], 'nothing was erased')
  await app.made('PUT', ownPath(app), { external_user_id: user, spend_limits: [limit('end_user', '1', 'total')] })
  assert.deepEqual(await app.made('DELETE', path), { conversations: 0, turns: 0, messages: 0 })
  assert.deepEqual(
    (await erasures()).map(({ noun, subject_id: subject }) => [noun, subject]),
    [['end_user_limits', app.caller.agentId]],
  )
  assert.equal(await app.occurrences(user), 0)
  await app.verify()
})
