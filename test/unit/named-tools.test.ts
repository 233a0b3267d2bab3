/** Tools as they are named for a model, and calls as they are returned, with the API whose servers differ most. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PromptMessage, ToolCall, ToolDefinition } from '../../src/agent/models/model.ts'
import { startAsker } from '../support/ask-model.ts'
import { startProviderAsker } from '../support/ask-provider.ts'
import { completion } from '../support/model-server.ts'
import { hostedKinds } from '../support/provider-dialects.ts'

const asker = startAsker()
const { ask } = asker
const hosted = startProviderAsker()

const tool = (name: string, parameters: unknown = { type: 'object', properties: {} }): ToolDefinition => ({
  name,
  description: 'A tool',
  parameters,
})
const sentNames = (): string[] => (asker.server.calls.at(-1)!.body['tools'] as any[]).map((one) => one.function.name)
const names = (calls: ToolCall[]): string[] => calls.map(({ name }) => name)

async function callNamed(name: string, tools: ToolDefinition[], messages?: PromptMessage[]): Promise<ToolCall> {
  asker.server.script([{ toolCall: { id: 'a', name, arguments: '{}' } }])
  const { toolCalls } = await ask({ request: { tools, ...(messages ? { messages } : {}) } })
  return toolCalls[0]!
}

test('tool names: a name that no provider accepts is sent as a valid one, and its call is returned under the original name', async () => {
  const tools = ['fs.read', 'fs_read', 'fs/read', '2nd', 'wetter_für', 'x'.repeat(70), `${'x'.repeat(70)}y`].map((name) => tool(name))
  await ask({ request: { tools } })
  const sent = sentNames()
  assert.deepEqual(sent.slice(0, 5), ['fs_read_2', 'fs_read', 'fs_read_3', '_2nd', 'wetter_f_r'])
  assert.equal(new Set(sent).size, tools.length)
  for (const name of sent) assert.match(name, /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/)
  for (const [n, name] of sent.entries()) assert.equal((await callNamed(name, tools)).name, tools[n]!.name)
  const call = await callNamed('fs_read_2', tools)
  await ask({ request: { tools, messages: [{ role: 'assistant', content: '', toolCalls: [call] }] } })
  assert.equal((asker.server.calls.at(-1)!.messages[0]!.tool_calls as any[])[0].function.name, 'fs_read_2')
})

test('tool names: a misspelled name is resolved if it matches one offered tool; any other stays as it was received', async () => {
  const tools = [tool('weather'), tool('server__get.sum')]
  for (const [said, meant] of Object.entries({
    'functions.weather': 'weather',
    'functions.weather:3': 'weather',
    'default_api.weather': 'weather',
    'default_api:weather': 'weather',
    ' weather\n': 'weather',
    'functions.server__get_sum:0': 'server__get.sum',
    'server__get.sum': 'server__get.sum',
    'functions.time': 'functions.time',
    Weather: 'Weather',
    weathers: 'weathers',
    '': '',
  }))
    assert.equal((await callNamed(said, tools)).name, meant)
})

test('tool names: a schema without type or properties is sent with both, to every provider', async () => {
  const tools = [tool('a', {}), tool('b', { type: 'object' }), tool('c', { properties: { x: { type: 'number' } } }), tool('d', null)]
  await ask({ request: { tools } })
  const empty = { type: 'object', properties: {} }
  const expected = [empty, empty, { type: 'object', properties: { x: { type: 'number' } } }, empty]
  assert.deepEqual(
    (asker.server.calls.at(-1)!.body['tools'] as any[]).map((one) => one.function.parameters),
    expected,
  )
  for (const kind of hostedKinds) {
    await hosted.ask(kind, { request: { tools } })
    const { tools: sent } = hosted.server.calls.at(-1)!.body
    const schemas = (sent[0].functionDeclarations ?? sent).map((one: any) => one.parametersJsonSchema ?? one.input_schema ?? one.parameters)
    assert.deepEqual(schemas, expected, kind)
  }
})

test('tool names: missing ids, duplicate ids and ids of an earlier step are replaced by new ones', async () => {
  const earlier: PromptMessage[] = [
    { role: 'user', content: 'Go' },
    { role: 'assistant', content: '', toolCalls: [{ id: 'call00001', name: 'x', arguments: '{}' }] },
    { role: 'tool', toolCallId: 'call00001', content: 'done' },
  ]
  const call = (id: string | undefined) => ({
    ...(id === undefined ? {} : { id }),
    type: 'function',
    function: { name: 'x', arguments: '{}' },
  })
  asker.server.script({
    json: completion({ content: null, tool_calls: [call(undefined), call('same'), call('same'), call('call00001'), call('')] }),
  })
  const { toolCalls } = await ask({ request: { tools: [tool('x')], messages: earlier } })
  const ids = toolCalls.map(({ id }) => id)
  assert.equal(ids[1], 'same')
  assert.equal(new Set([...ids, 'call00001']).size, 6, ids.join())
  for (const id of [ids[0]!, ...ids.slice(2)]) assert.match(id, /^[a-zA-Z0-9]{9}$/)
})

for (const kind of hostedKinds)
  test(`${kind}: two calls with one id are two calls, each with its own arguments`, async () => {
    const call = (city: string) => ({ toolCall: { id: 'same', name: 'x', arguments: JSON.stringify({ city }) } })
    const { toolCalls } = await hosted.answer(kind, [call('Oslo'), call('Rome')])
    assert.deepEqual(
      toolCalls.map(({ arguments: args }) => args),
      ['{"city":"Oslo"}', '{"city":"Rome"}'],
    )
    assert.notEqual(toolCalls[0]!.id, toolCalls[1]!.id)
  })

test('arguments: missing arguments are an empty object, an object is serialized, and invalid ones stay invalid for the loop to report', async () => {
  const said = [undefined, null, '', ' ', 'null', { city: 'Oslo' }, '{"city', '[1]', [1], 7, '"x"']
  const calls = said.map((args, n) => ({ id: `c${n}`, type: 'function', function: { name: 'x', arguments: args } }))
  const { toolCalls, finishReason } = await asker.answer({ json: completion({ content: null, tool_calls: calls }) })
  assert.equal(finishReason, 'tool_calls')
  assert.deepEqual(
    toolCalls.map(({ arguments: args }) => args),
    ['{}', '{}', '{}', '{}', '{}', '{"city":"Oslo"}', '{"city', '[1]', '[1]', '7', '"x"'],
  )
})

test('fault.tool-calls-invalid: a thousand calls, unknown ones among them, are returned as they were made', async () => {
  const parts = Array.from({ length: 1000 }, (_, n) => ({ toolCall: { id: `call_${n}`, name: `unknown_${n}`, arguments: '{"a' } }))
  asker.server.script(parts)
  const step = await ask({ request: { maxOutputTokens: 2048 } })
  assert.deepEqual([step.toolCalls.length, step.finishReason, names(step.toolCalls).at(-1)], [1000, 'tool_calls', 'unknown_999'])
  await ask({ request: { messages: [{ role: 'assistant', content: '', toolCalls: step.toolCalls.slice(0, 1) }] } })
  const [sent] = asker.server.calls.at(-1)!.messages[0]!.tool_calls as any[]
  assert.deepEqual(sent.function, { name: 'unknown_0', arguments: '{}' }, 'servers refuse a request whose own arguments are no JSON')
})

test('tool names: a server that ignores tools replies with text', async () => {
  asker.server.script('It rains.')
  const step = await ask({ request: { tools: [tool('weather')] } })
  assert.deepEqual([step.text, step.toolCalls, step.finishReason], ['It rains.', [], 'stop'])
})
