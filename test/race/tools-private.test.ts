/**
 * Plants canaries in everything that a caller must never see: the system prompt, passages, arguments and results of tools, secrets,
 * reasoning, a provider's message. None of them may appear in a stream, a response, an error or a log line, whether a turn completes or
 * not.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../support/test-app.ts'
import { call, dayTool, ToolProcessRuns } from '../support/tool-process-runs.ts'
import type { Part, Script } from '../support/model-server.ts'

const canary = (place: string): string => `CANARY-${place}-4711`
const reasoning: Part = { reasoning: canary('reasoning') }
const asks: Part[] = [reasoning, call('book', { day: canary('argument') })]

const turns: { what: string; script: Script[]; code: string | undefined }[] = [
  { what: 'an answered turn', script: [asks, [reasoning, 'Booked.']], code: undefined },
  { what: 'a tool that fails', script: [[reasoning, call('fail', { day: canary('argument') })], 'It did not work.'], code: undefined },
  { what: 'an unknown tool', script: [[call(canary('name'), canary('argument'))], 'There is none.'], code: undefined },
  { what: 'invalid arguments', script: [[call('book', { [canary('argument')]: 1 })], 'It did not work.'], code: undefined },
  {
    what: 'a provider that refuses and repeats the prompt',
    script: [asks, { status: 400, body: { error: { message: canary('provider') } } }],
    code: 'internal_error',
  },
  {
    what: 'a provider that breaks off',
    script: [asks, ['', { raw: `data: ${canary('provider')}\n\n` }, { cut: 'rst' }]],
    code: 'service_unavailable',
  },
  { what: 'no text, twice', script: [asks, [reasoning], [reasoning]], code: 'internal_error' },
  { what: 'an unfinished call', script: [[reasoning, call('book', canary('argument')), { finish: 'length' }]], code: 'internal_error' },
]

void test('tools.private: nothing of prompt, passages, tools, secrets and reasoning appears in streams, responses, errors or logs', async (t) => {
  const processRuns = await ToolProcessRuns.begin(t, { store: 'sqlite', agent: { system_prompt: `Say little. ${canary('prompt')}` } })
  const { client, model, tools } = processRuns
  const fields = { headers: { Authorization: 'Bearer {token}' }, secrets: { token: canary('secret') } }
  await client.made('PATCH', `/agents/${client.caller.agentId}`, {
    tools: [dayTool(tools, 'book', fields), dayTool(tools, 'fail', { ...fields, side_effects: false })],
  })
  await client.made('POST', `/agents/${client.caller.agentId}/documents`, {
    title: 'Zeppelins',
    text: `A zeppelin is ${canary('passage')}.`,
  })
  tools.when('/book', { body: canary('result') })
  tools.when('/fail', { status: 500, body: canary('result') })
  await indexed(processRuns)

  const seen: Answer[] = []
  for (const [n, { what, script, code }] of turns.entries()) {
    for (const transport of ['stream', 'chat'] as const) {
      // A broken call is retried as long as there is no text.
      model.script(...script)
      if (what.includes('breaks off')) model.script(script[1]!, script[1]!)
      const answer = await client[transport]('What is a zeppelin?', { user: `user ${n}` })
      const got = answer.json.error?.code ?? (answer.text.includes('event: error') ? /"code":"(\w+)"/.exec(answer.text)![1] : undefined)
      assert.equal(got, code, `${what} on ${transport}: ${answer.text}`)
      seen.push(answer)
    }
    for (const message of await client.messages(`user ${n}`)) assert.doesNotMatch(message.content, /CANARY/)
  }
  assert.ok(
    tools.calls.some(({ headers }) => headers.authorization === `Bearer ${canary('secret')}`),
    'the secret was there',
  )
  assert.ok(
    model.calls.some(({ messages }) => messages.some(({ content }) => content?.includes(canary('passage')))),
    'and the passage',
  )
  assert.ok(
    model.calls.some(({ messages }) => messages.some(({ content }) => content?.includes(canary('result')))),
    'and a result',
  )
  for (const { text, headers } of seen) {
    assert.doesNotMatch(text, /CANARY/)
    assert.doesNotMatch(JSON.stringify([...headers]), /CANARY/)
  }
  const { log, stdout } = processRuns.server!
  assert.ok(log.some(({ msg, tool, outcome }) => msg === 'tool called' && tool === 'book' && outcome === 'answered'))
  assert.doesNotMatch(JSON.stringify(log) + stdout.join('\n'), /CANARY/)
  await processRuns.verify()
})

async function indexed({ client }: ToolProcessRuns): Promise<void> {
  for (const until = performance.now() + 60_000; ; assert.ok(performance.now() < until, 'not indexed in time')) {
    const { data } = await client.made('GET', `/agents/${client.caller.agentId}/documents`)
    if (data[0].status === 'ready') return
    assert.notEqual(data[0].status, 'failed')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
