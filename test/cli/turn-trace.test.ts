/** `turnkeep turn trace` against the real service: what it prints of a turn that called tools, failed, runs, or has no trace. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { traceLines } from '../../src/cli/resources/trace-lines.ts'
import { gate } from '../support/model-server.ts'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { call, threeTools } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolServer } from '../support/tool-server.ts'
import { openTerminal, withoutTerminal } from './terminal-session.ts'

let app: TestApp
let untraced: TestApp
let tools: ToolServer
before(async () => {
  tools = await startToolServer()
  const env = { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address }
  const agent = { tools: threeTools(tools), knowledge: { max_tokens: 160, top_k: 5 } }
  app = await startTestApp({ env, agent })
  untraced = await startTestApp({ env: { ...env, TURNKEEP_TRACE_DAYS: '0' }, agent })
})
after(async () => {
  await app.close()
  await untraced.close()
  await tools.close()
})

const environment = (of: TestApp): Record<string, string> => ({ TURNKEEP_PUBLIC_URL: of.url, TURNKEEP_ADMIN_TOKEN: adminToken })
const trace = (id: string, ...options: string[]): Promise<Ran> => runCommand(['turn', 'trace', id, ...options], environment(app))

async function toolTurn(user: string): Promise<string> {
  const { agentId } = app.caller
  const text = (word: string): string => `${word} may be returned within 30 days. `.repeat(2)
  for (const word of ['Monday', 'Tuesday'])
    await app.app.knowledge.index({ documentId: `doc_${word}`, agentId, title: `Returns on ${word}`, text: text(word) })
  tools.when('/look', { status: 500, body: 'out of order' })
  app.model.script(
    ['Let me see.\u001b[31m', call('book', { day: 'Monday' }, 'a'), call('look', { day: 'Tuesday' }, 'b')],
    ['All done.', { usage: { prompt_tokens: 1300, completion_tokens: 30, total_tokens: 1330 } }],
  )
  return (await app.chat('Monday returned', { user })).json['request_id']
}

test('turn trace: prints the attempt, the passages, and each model call and tool call in order; --json prints the response', async () => {
  const id = await toolTurn('tools')
  const { stdout, stderr, code } = await trace(id)
  assert.deepEqual([code, stderr], [0, ''])
  const ms = /-?[\d,]+ ms/.source
  const lines = [
    `Turn ${id}: completed`,
    'Conversation conv_[0-9a-z]+',
    'Message: Monday returned',
    '',
    `Run 1, attempt 1: completed, ${ms}`,
    ` +${ms}  admission, ${ms}, hold 0\\.\\d{8} USD`,
    ` +${ms}  retrieval, ${ms}, 2 passages`,
    ' {13}1\\. Returns on Monday \\(score [\\d.]+\\)',
    ' {13}2\\. Returns on Tuesday \\(score [\\d.]+, not sent: did not fit\\)',
    ` +${ms}  model call, step 1, scripted/test-model, ${ms}, first text ${ms}, \\d+ \\+ \\d+ tokens.*, finish reason tool_calls`,
    ' {13}text: Let me see\\.\\\\u\\{1b\\}\\[31m',
    ' {13}calls: book, look',
    ` +${ms}  tool call, step 1, book: answered, ${ms}`,
    ' {13}arguments: \\{"day":"Monday"\\}',
    ' {13}result: Status 200, text/plain:',
    ' {15}/book done, call 1',
    ` +${ms}  tool call, step 1, look: error, ${ms}`,
    ' {13}arguments: \\{"day":"Tuesday"\\}',
    ' {13}error: Status 500, text/plain:',
    ' {15}out of order',
    ` +${ms}  model call, step 2, scripted/test-model, ${ms}, first text ${ms}, 1,300 \\+ 30 tokens, finish reason stop`,
    ' {13}text: All done\\.',
    ` +${ms}  settlement, 0\\.\\d{8} USD charged, 0\\.\\d{8} USD of the hold released`,
    ' {15}Price of agent version 1, set by the operator, \\d{4}-\\d{2}-\\d{2}',
    ' {15}prompt: 1,\\d{3} tokens at 0\\.15000000 USD per million +0\\.\\d{8} USD',
    ' {15}completion: 31 tokens at 0\\.60000000 USD per million +0\\.00001860 USD',
    ' {15}charged +0\\.\\d{8} USD',
  ]
  assert.match(stdout, new RegExp(`^${lines.join('\n')}\n$`))
  const json = JSON.parse((await trace(id, '--json')).stdout) as Json
  assert.deepEqual(json, await app.made('GET', `/turns/${id}/trace`))
})

test('turn trace: what is known only from the journal is below the attempt that did it, in the order of time; unknown attempts are named', () => {
  const common = {
    run: 1,
    duration_ms: null,
    recorded: 'journal',
    step: 1,
    result: null,
    status: 'interrupted',
    price_usd: null,
    arguments: '{}',
  } as const
  const tool = (name: string, attempt: number | null, startMs: number | null) =>
    ({ ...common, type: 'tool_call', name, attempt, start_ms: startMs }) as const
  const end = (attempt: number, word: string, cause: string | null) =>
    ({ ...common, type: 'attempt', attempt, start_ms: null, end: word, cause_kind: cause && 'provider_error', cause }) as const
  const spans = [
    end(1, 'process_died', null),
    tool('unknown', null, 5),
    tool('last', 2, 40),
    end(2, 'released', 'refused'),
    tool('early', 2, 20),
    tool('next', 2, null),
  ]
  const version = { number: 1, model: 'm' }
  const ids = { request_id: 'r', conversation_id: 'c', status: 'released', run: 1, message: 'hi', reply: null, version, complete: false }
  const lines = traceLines({ ...ids, spans }, { width: 80, prompt: false }).filter((line) => /^Run|Cause|tool call/.test(line))
  assert.deepEqual(
    lines.map((line) => line.trim().replace(/, from the journal$/, '')),
    [
      'Run 1, attempt 1: process died',
      'Run 1, attempt unknown',
      '5 ms  tool call, step 1, unknown: interrupted',
      'Run 1, attempt 2: released',
      'Cause (provider_error): refused',
      '20 ms  tool call, step 1, early: interrupted',
      '-  tool call, step 1, next: interrupted',
      '40 ms  tool call, step 1, last: interrupted',
    ],
  )
})

test('turn trace: --prompt prints the messages and tools that each model call was sent', async () => {
  const { stdout } = await trace(await toolTurn('prompt'), '--prompt')
  assert.match(
    stdout,
    /prompt: 2 messages, 3 tools\n +tools: book, look, cancel\n +\[system\]\n[^]*Monday may be returned[^]* +\[user\]\n +Monday returned\n/,
  )
  assert.match(stdout, / +\[assistant\]\n +Let me see\..*\n +calls book \(a\): \{"day":"Monday"\}\n[^]* +\[tool b\]\n/)
})

test('turn trace: a failure shows its cause in the words of the provider', async () => {
  app.model.script({ status: 400, body: { error: { message: 'no such model' } } })
  const { json } = await app.chat('hi', { user: 'failed' })
  const { stdout, code } = await trace(json['error'].request_id)
  assert.equal(code, 0)
  assert.match(stdout, /\nRun 1, attempt 1: released, [\d,]+ ms\n {2}Cause \(\w+\): .*no such model/)
  assert.match(stdout, /model call, step 1, .*\n {13}error \(\w+\): .*no such model/)
})

test('turn trace: lines fit the terminal', { skip: withoutTerminal, timeout: 60_000 }, async () => {
  app.model.script('word '.repeat(100))
  const { json } = await app.chat('long '.repeat(50), { user: 'wide' })
  const terminal = openTerminal(['turn', 'trace', json['request_id'], '--prompt'], environment(app))
  assert.equal(await terminal.ended, 0)
  const lines = terminal.screen.split('\n')
  assert.ok(lines.length > 12 && lines.every((line) => line.length <= 80), terminal.screen)
})

test('turn trace: of a running turn it prints what is known so far; of an unknown turn and one without a trace it says why there is nothing', async () => {
  const held = gate()
  app.model.script(['Once ', held, 'upon'])
  const answer = app.chat('hi', { user: 'running' })
  await held.reached
  const [{ request_id: id }] = (await app.made('GET', '/turns?status=running'))['data']
  const running = await trace(id)
  assert.match(running.stdout, /\nRun 1, attempt 1: running[^]*model call, step 1/)
  assert.equal(running.stderr, `The turn is still running. To follow it: npx --no-install turnkeep turn follow ${id}\n`)
  held.open()
  await answer

  const unknown = await trace('none')
  assert.deepEqual([unknown.code, unknown.stdout], [1, ''])
  assert.match(unknown.stderr, /^turnkeep: This turn does not exist\. \(not_found, 404, request /)

  untraced.model.script('Hello.', ['Let me see.', call('book', { day: 'Monday' })], 'Booked.')
  const simple = (await untraced.chat('hi', { user: 'simple' })).json['request_id']
  const none = await runCommand(['turn', 'trace', simple], environment(untraced))
  assert.deepEqual([none.code, none.stdout], [1, ''])
  assert.match(
    none.stderr,
    /^turnkeep: no trace is stored for this turn: it is older than TURNKEEP_TRACE_DAYS, traces are off \(0\), or all attempts died\.\nFor its status, cost and failure: npx --no-install turnkeep turn show /,
  )
  const booked = (await untraced.chat('book', { user: 'booked' })).json['request_id']
  const journal = await runCommand(['turn', 'trace', booked], environment(untraced))
  assert.equal(journal.code, 0)
  assert.match(
    journal.stdout,
    /\nRun 1, attempt 1: completed\n +-  model call, step 1, scripted\/test-model, .*from the journal\n[^]*tool call, step 1, book: answered, .*from the journal\n/,
  )
  assert.match(journal.stderr, /^The trace is not complete\. A run has no stored trace: /)
})
