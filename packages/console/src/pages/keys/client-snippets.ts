/**
 * The addresses and the configuration of clients that exist: OpenAI's SDKs and what builds on them, and MCP clients. Like the sample calls, they
 * read the key from the environment or ask for it.
 */
import type { Snippet } from './snippets.ts'

type Called = { apiUrl: string; agentId: string }

export type Address = { label: string; text: string; copy: string }

/** What a client without a snippet asks for. The model is the ID of the agent, which does not change with its name. */
export function addressesFor({ apiUrl, agentId }: Called): Address[] {
  const base = apiUrl.replace(/\/+$/, '')
  return [
    { label: 'OpenAI base URL', text: `${base}/v1`, copy: 'Copy base URL' },
    { label: 'Model', text: agentId, copy: 'Copy model' },
    { label: 'MCP server URL', text: `${base}/mcp`, copy: 'Copy server URL' },
  ]
}

export function clientSnippetsFor({ apiUrl, agentId }: Called): Snippet[] {
  const base = apiUrl.replace(/\/+$/, '')
  const openAi = { url: `${base}/v1`, model: agentId }
  const mcp = `${base}/mcp`
  return [
    { id: 'openai-typescript', label: 'OpenAI SDK, TypeScript', text: openAiTypeScript(openAi) },
    { id: 'openai-python', label: 'OpenAI SDK, Python', text: openAiPython(openAi) },
    { id: 'ai-sdk', label: 'AI SDK', text: aiSdk(openAi) },
    { id: 'langchain', label: 'LangChain', text: langChain(openAi) },
    { id: 'claude-code', label: 'Claude Code', text: json({ mcpServers: { turnkeep: remote(mcp, '${TURNKEEP_API_KEY}') } }) },
    { id: 'cursor', label: 'Cursor', text: json({ mcpServers: { turnkeep: { url: mcp, headers: bearer('${env:TURNKEEP_API_KEY}') } } }) },
    { id: 'vs-code', label: 'VS Code', text: vsCode(mcp) },
  ]
}

type OpenAi = { url: string; model: string }

const openAiTypeScript = ({ url, model }: OpenAi): string => `// Run this on a server: an API key must never reach a browser.
import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${url}', apiKey: process.env.TURNKEEP_API_KEY, timeout: 120_000 })
const completion = await client.chat.completions.create(
  { model: '${model}', user: 'customer-4711', messages: [{ role: 'user', content: 'Hello' }] },
  // One per message, created before the first attempt. Retries with the same key are charged once.
  { headers: { 'Idempotency-Key': crypto.randomUUID() } },
)
console.log(completion.choices[0].message.content)`

const openAiPython = ({ url, model }: OpenAi): string => `import os, uuid
from openai import OpenAI

client = OpenAI(base_url="${url}", api_key=os.environ["TURNKEEP_API_KEY"], timeout=120)
completion = client.chat.completions.create(
    model="${model}",
    user="customer-4711",
    messages=[{"role": "user", "content": "Hello"}],
    # One per message, created before the first attempt. Retries with the same key are charged once.
    extra_headers={"Idempotency-Key": str(uuid.uuid4())},
)
print(completion.choices[0].message.content)`

const aiSdk = ({ url, model }: OpenAi): string => `// Run this on a server: an API key must never reach a browser.
import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'

const turnkeep = createOpenAI({ baseURL: '${url}', apiKey: process.env.TURNKEEP_API_KEY })
const { text } = await generateText({
  model: turnkeep('${model}'),
  prompt: 'Hello',
  providerOptions: { openai: { user: 'customer-4711' } },
  // One per message, created before the first attempt. Retries with the same key are charged once.
  headers: { 'Idempotency-Key': crypto.randomUUID() },
})
console.log(text)`

const langChain = ({ url, model }: OpenAi): string => `// Run this on a server: an API key must never reach a browser.
import { ChatOpenAI } from '@langchain/openai'

const model = new ChatOpenAI({
  model: '${model}',
  user: 'customer-4711',
  apiKey: process.env.TURNKEEP_API_KEY,
  configuration: { baseURL: '${url}' },
})
// One per message, created before the first attempt. Retries with the same key are charged once.
const headers = { 'Idempotency-Key': crypto.randomUUID() }
const reply = await model.invoke('Hello', { options: { headers } })
console.log(reply.text)`

const bearer = (key: string): object => ({ Authorization: `Bearer ${key}` })
const remote = (url: string, key: string): object => ({ type: 'http', url, headers: bearer(key) })
const json = (value: object): string => JSON.stringify(value, null, 2)

const vsCode = (url: string): string =>
  json({
    inputs: [{ type: 'promptString', id: 'turnkeep-key', description: 'API key of the agent', password: true }],
    servers: { turnkeep: remote(url, '${input:turnkeep-key}') },
  })
