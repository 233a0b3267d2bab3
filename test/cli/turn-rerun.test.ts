/** `turnkeep turn rerun` against the real service: what it sends, and what it prints to compare the stored reply with the new one. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gate } from '../support/model-server.ts'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { call, threeTools } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolServer } from '../support/tool-server.ts'

let app: TestApp
let tools: ToolServer
const folder = mkdtempSync(join(tmpdir(), 'turnkeep-rerun-'))
before(async () => {
  tools = await startToolServer()
  app = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address }, agent: { tools: threeTools(tools) } })
})
after(async () => {
  await app.close()
  await tools.close()
  rmSync(folder, { recursive: true })
})

const rerun = (id: string, ...options: string[]): Promise<Ran> =>
  runCommand(['turn', 'rerun', id, ...options], { TURNKEEP_PUBLIC_URL: app.url, TURNKEEP_ADMIN_TOKEN: adminToken })
const usage = (prompt: number, completion: number) => ({
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
})
const end = 'Nothing was stored or charged. The provider bills the model calls.\n'

test('turn rerun rerun.harmless: prints the stored reply and the new one with their tokens and cost, and stores nothing', async () => {
  app.model.script(['Within\n30 days.', usage(1300, 30)])
  const { json } = await app.chat('May I return it?', { user: 'both' })
  const id = json['request_id']
  const charged = (await app.made('GET', `/turns/${id}`))['usage'].charged_usd
  app.model.script([call('look', { day: 'Monday' }, 'a'), call('book', { day: 'Monday' }, 'b')], ['No.\u001b[31m', usage(400, 2)])
  const { stdout, stderr, code } = await rerun(id, '--model', 'scripted/other', '--message', 'May I return boots?')
  assert.deepEqual([code, stderr], [0, end])
  const lines = [
    `Turn ${id}: completed, version 1`,
    'Message: May I return it\\?',
    'Message of the rerun: May I return boots\\?',
    '',
    `Stored reply: scripted/test-model, 1,300 \\+ 30 tokens, ${charged} USD charged`,
    '  Within',
    '  30 days\\.',
    '',
    'New reply: scripted/other, \\d+ \\+ \\d+ tokens.*, 0\\.\\d{8} USD at the price of the turn',
    '  Tool calls: .*book \\(not made\\).*',
    '  No\\.\\\\u\\{1b\\}\\[31m',
  ]
  assert.match(stdout, new RegExp(`^${lines.join('\n')}\n$`))
  assert.match(stdout, /look \(answered\)/)
  assert.equal(tools.callsOf('/book').length, 0)
  const { data } = await app.made('GET', `/conversations/${json['conversation_id']}/messages`)
  assert.equal(data.length, 2)

  app.model.script('Again.')
  const asJson = await rerun(id, '--json')
  assert.deepEqual([asJson.code, asJson.stderr], [0, ''])
  const response = JSON.parse(asJson.stdout) as Json
  assert.deepEqual(Object.keys(response), ['text', 'usage', 'cost_usd', 'failure', 'spans'])
  assert.equal(response['text'], 'Again.')
})

test('turn rerun: the options are the overrides of the rerun; without one, the turn runs as it was', async () => {
  const { json } = await app.chat('hello', { user: 'options' })
  const file = join(folder, 'prompt.txt')
  writeFileSync(file, 'Be brief.\n')
  const sent = async (...options: string[]): Promise<unknown[]> => {
    assert.equal((await rerun(json['request_id'], ...options)).code, 0)
    const { body, messages } = app.model.calls.at(-1)!
    return [body['model'], body['temperature'], body['max_tokens'], ...messages.map(({ content }) => content)]
  }
  const asItWas = await sent()
  assert.deepEqual([asItWas[0], ...asItWas.slice(3)], ['test-model', 'You are a test.', 'hello'])
  assert.deepEqual(
    await sent('--system-prompt-file', file, '--temperature', '0.5', '--max-output-tokens', '7', '--model', 'scripted/other'),
    ['other', 0.5, 7, 'Be brief.', 'hello'],
  )
  assert.equal((await sent('--system-prompt', 'Be long.'))[3], 'Be long.')

  const calls = app.model.calls.length
  const both = await rerun(json['request_id'], '--system-prompt', 'a', '--system-prompt-file', file)
  assert.deepEqual([both.code, both.stderr], [2, 'turnkeep: --system-prompt and --system-prompt-file cannot be used together\n'])
  const missing = await rerun(json['request_id'], '--system-prompt-file', join(folder, 'none'))
  assert.equal(missing.code, 2)
  assert.match(missing.stderr, /^turnkeep: cannot read .*none: ENOENT/)
  for (const options of [
    ['--temperature', '3'],
    ['--model', 'bare'],
  ]) {
    const { code, stdout, stderr } = await rerun(json['request_id'], ...options)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^turnkeep: overrides\.(temperature|model)\b.*\(validation_error, 422, request /)
  }
  assert.equal(app.model.calls.length, calls)
})

test('turn rerun: says why there is no stored reply or no new one; a rerun without a reply has exit code 1', async () => {
  const failure = { status: 401, body: { error: { message: 'no such key' } } }
  app.model.script(failure)
  const refused = await app.chat('hi', { user: 'refused' })
  const id = refused.json['error'].request_id
  app.model.script(failure)
  const again = await rerun(id)
  assert.equal(again.code, 1)
  assert.match(again.stdout, /\nNo stored reply: released \(provider_401\): .*no such key[^\n]*\n\nNo new reply: scripted\/test-model, /)
  assert.ok(again.stderr.startsWith(end))
  assert.match(again.stderr, /\nturnkeep: the rerun has no reply \(provider_401\): .*no such key[^\n]*/)
  app.model.script(failure)
  const asJson = await rerun(id, '--json')
  assert.deepEqual([asJson.code, (JSON.parse(asJson.stdout) as Json)['failure'].cause_kind], [1, 'provider_401'])
  const better = await rerun(id)
  assert.equal(better.code, 0)
  assert.match(better.stdout, /\nNo stored reply: released [^]*\nNew reply: [^]*\n {2}You said: hi\n$/)
})

test('turn rerun: a running turn and an unknown one are refused, and no model is called', async () => {
  const held = gate()
  app.model.script(['Once ', held, 'upon'])
  const answer = app.chat('hi', { user: 'running' })
  await held.reached
  const [{ request_id: id }] = (await app.made('GET', '/turns?status=running'))['data']
  const calls = app.model.calls.length
  const running = await rerun(id)
  assert.deepEqual([running.code, running.stdout], [1, ''])
  assert.match(running.stderr, /^turnkeep: This turn is still running\. Run it again when it has ended\. \(conflict, 409, request /)
  const unknown = await rerun('none')
  assert.deepEqual([unknown.code, unknown.stdout], [1, ''])
  assert.match(unknown.stderr, /^turnkeep: This turn does not exist\. \(not_found, 404, request /)
  assert.equal(app.model.calls.length, calls)
  held.open()
  await answer
})
