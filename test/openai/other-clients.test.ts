/** Other clients that exist, unmodified: the AI SDK with both of its OpenAI providers, and LangChain. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, streamText } from 'ai'
import type { LanguageModel } from 'ai'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

const startWeatherApp = async (): Promise<TestApp> => {
  const app = await startTestApp({ key: { default_external_user_id: 'default-user' } })
  app.model.when('weather', ['It ', 'rains ', 'in Oslo.'])
  return app
}

/** The calls of one model of the AI SDK, with the history that it sends back. */
async function checkAiSdk(app: TestApp, model: LanguageModel, providerOptions: Record<string, Record<string, string>> = {}): Promise<void> {
  const first = await generateText({ model, prompt: 'weather', providerOptions })
  assert.deepEqual([first.text, first.finishReason, first.usage.totalTokens! > 0], ['It rains in Oslo.', 'stop', true])
  const history = [{ role: 'user' as const, content: 'weather' }, ...first.response.messages]
  const second = streamText({
    model,
    messages: [...history, { role: 'user', content: 'weather again' }],
    providerOptions,
    temperature: 0.5,
  })
  let text = ''
  for await (const delta of second.textStream) text += delta
  assert.deepEqual([text, await second.finishReason], ['It rains in Oslo.', 'stop'])
  assert.equal(app.model.calls.at(-1)!.lastUserMessage, 'weather again')
}

void test('openai.clients: @ai-sdk/openai generates and streams by responses and by chat completions', async () => {
  await using app = await startWeatherApp()
  const provider = createOpenAI({ apiKey: app.caller.apiKey, baseURL: `${app.url}/v1` })
  await checkAiSdk(app, provider.responses('test-agent'), { openai: { user: 'by-responses' } })
  await checkAiSdk(app, provider.chat('test-agent'), { openai: { user: 'by-chat' } })
  for (const user of ['by-responses', 'by-chat']) assert.equal((await app.messages(user)).length, 4, user)
  await assert.rejects(generateText({ model: provider.responses('test-agent'), system: 'Be brief.', prompt: 'weather' }), /system prompt/)
  await app.verify()
})

void test('openai.clients: @ai-sdk/openai-compatible generates and streams', async () => {
  await using app = await startWeatherApp()
  const provider = createOpenAICompatible({ name: 'turnkeep', apiKey: app.caller.apiKey, baseURL: `${app.url}/v1`, includeUsage: true })
  await checkAiSdk(app, provider('test-agent'))
  assert.equal((await app.messages('default-user')).length, 4)
  await app.verify()
})

void test('openai.clients: @langchain/openai invokes and streams by chat completions and by responses', async () => {
  await using app = await startWeatherApp()
  for (const useResponsesApi of [false, true]) {
    const user = `langchain-${useResponsesApi}`
    const model = new ChatOpenAI({
      model: 'test-agent',
      apiKey: app.caller.apiKey,
      configuration: { baseURL: `${app.url}/v1` },
      user,
      useResponsesApi,
      streamUsage: true,
    })
    const reply = await model.invoke('weather')
    assert.equal(reply.text, 'It rains in Oslo.')
    assert.ok(reply.usage_metadata!.total_tokens > 0)
    let text = ''
    for await (const chunk of await model.stream([['human', 'weather'], reply, ['human', 'weather again']])) text += chunk.text
    assert.equal(text, 'It rains in Oslo.')
    assert.equal(app.model.calls.at(-1)!.lastUserMessage, 'weather again')
    assert.equal((await app.messages(user)).length, 4)
  }
  await app.verify()
})
