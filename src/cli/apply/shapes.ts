/**
 * What may stand in a declaration: the fields of the admin API in its own words, and those of this command alone (secret_file, api_key_env, …).
 * Bounds are the API's; test/cli/apply-shapes.test.ts holds them against it. A field that is absent stays as it is on the server.
 */
import { isMap, isScalar } from 'yaml'
import { anything, boolean, list, map, number, oneOf, optional, orNull, record, required, text, usd, wrong } from './readers.ts'
import type { Reader } from './readers.ts'

const id = optional(text({ min: 1, max: 100 }))
const name = text({ min: 1, max: 200 })
const whole = (min: number, max: number) => number({ min, max, whole: true })
const path = text({ min: 1, max: 4096 })
const model = text({ min: 3, max: 300, pattern: /^[^/\s]+\/[^\p{Cc}]+$/u, as: 'the name of a provider, a slash and the id of a model' })
const url = text({ min: 1, max: 2000 })
// Whatever stands here instead may be the secret itself, which no problem shows.
const variable: Reader<string> = ({ node, name: called, place, source }) =>
  isScalar(node) && typeof node.value === 'string' && /^[A-Za-z_]\w{0,199}$/.test(node.value)
    ? node.value
    : source.problems.add(place, `${called} must be the name of an environment variable`)
const toolName = text({ min: 1, max: 64, pattern: /^[\w-]+$/, as: 'made of letters, digits, _ and -' })

const neverHere = (hint: string): string => `never stands in the file, which is kept and shared: ${hint}`

export const providerFields = {
  id,
  name: required(text({ min: 1, max: 64, pattern: /^[a-z0-9][a-z0-9-]*$/, as: 'made of small letters, digits and -' })),
  kind: required(oneOf(['openai', 'anthropic', 'google', 'openai-compatible'])),
  base_url: optional(orNull(url)),
  api_key_env: optional(variable),
}
const provider = map('a provider', providerFields, {
  api_key: neverHere('name the environment variable that holds it, as api_key_env: OPENAI_API_KEY'),
})

export const keyFields = {
  id,
  name: required(name),
  permission: optional(oneOf(['full', 'read-only'])),
  rate_limit: optional(map('a rate limit', { limit: required(whole(1, 1_000_000)), window_seconds: required(whole(1, 86_400)) })),
  secret_file: optional(path),
}
const key = map('a key', keyFields, { api_key: 'is made by the server: secret_file says where it is written' })

const document = map('a document', {
  id,
  file: optional(path),
  title: optional(text({ min: 1, max: 500 })),
  text: optional(text({ min: 1, max: 1_000_000 })),
  url: optional(url),
})

/** A value that the server never tells: from the environment, or null, which keeps the stored one. */
export type Hidden = { env: string } | { literal: string } | null

const secret: Reader<Hidden> = (given) =>
  isMap(given.node) || (isScalar(given.node) && given.node.value === null)
    ? orNull(map('a secret', { env: required(variable) }))(given)
    : given.source.problems.add(
        given.place,
        `${given.name}: a secret ${neverHere(`name the variable that holds it, as ${given.name}: {env: SHOP_KEY}`)}`,
      )

// As those are called that let somebody in.
const lettingIn = /authorization|cookie|key|token|secret|password|signature/i

/** May be plain text, since a placeholder is filled in from the secrets. */
const header: Reader<Hidden> = (given) => {
  const { node, name: called } = given
  if (!isScalar(node) || node.value === null) return secret(given)
  if (lettingIn.test(called) && !/\{[\w.-]+\}/.test(String(node.value))) return secret(given)
  const literal = text({ min: 1, max: 4096 })(given)
  return literal === undefined ? undefined : { literal }
}

const httpTool = map('an HTTP tool', {
  type: required(oneOf<'http'>(['http'])),
  name: required(toolName),
  description: required(text({ min: 1, max: 8000 })),
  parameters: required(anything),
  method: required(oneOf(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])),
  url: required(url),
  headers: optional(record(header)),
  secrets: optional(record(secret)),
  timeout_seconds: optional(whole(1, 60)),
  side_effects: optional(boolean),
})
const mcpTool = map('an MCP server', {
  type: required(oneOf<'mcp'>(['mcp'])),
  name: required(toolName),
  url: required(url),
  headers: optional(record(header)),
  allowed: optional(orNull(list(text({ min: 1, max: 200 }), 200))),
})
const builtInTool = map('a built-in tool', {
  type: required(oneOf<'builtin'>(['builtin'])),
  name: required(oneOf(['now', 'search_knowledge'])),
})

/** By its type, so that what is wrong is said of the one that was meant. */
const tool: Reader<Of<typeof httpTool> | Of<typeof mcpTool> | Of<typeof builtInTool>> = (given) => {
  if (!isMap(given.node)) return wrong(given, 'a tool, as {type: builtin, name: now}')
  switch (given.node.get('type')) {
    case 'http':
      return httpTool(given)
    case 'mcp':
      return mcpTool(given)
    case 'builtin':
      return builtInTool(given)
    default:
      return given.source.problems.add(given.place, 'a tool needs a type: http, mcp or builtin')
  }
}

/** Of an agent, without what stands below it. */
export const agentFields = {
  name: required(name),
  system_prompt: optional(text({ max: 100_000 })),
  model: optional(model),
  price: optional(map('a price', { prompt_usd_per_million: required(usd), completion_usd_per_million: required(usd) })),
  max_output_tokens: optional(whole(1, 200_000)),
  temperature: optional(orNull(number({ min: 0, max: 2, whole: false }))),
  max_steps: optional(whole(1, 32)),
  max_tool_calls: optional(whole(0, 128)),
  max_message_length: optional(whole(1, 1_000_000)),
  history: optional(map('history', { max_tokens: optional(whole(0, 800_000)) })),
  knowledge: optional(
    map('knowledge', {
      max_tokens: optional(whole(0, 100_000)),
      top_k: optional(whole(0, 50)),
      embedding_model: optional(orNull(model)),
      language: optional(orNull(text({ min: 1, max: 40 }))),
    }),
  ),
  tools: optional(list(tool, 32)),
  enabled: optional(boolean),
}

const agent = map(
  'an agent',
  { id, ...agentFields, system_prompt_file: optional(path), keys: optional(list(key)), documents: optional(list(document)) },
  { owner_id: 'is not needed: an agent stands below its owner' },
)
const owner = map('an owner', { id, name: required(name), balance_usd: optional(usd), agents: optional(list(agent)) })

export const root = map('a declaration', { providers: optional(list(provider)), owners: optional(list(owner)) })

type Of<R> = R extends Reader<infer T> ? T : never
export type GivenProvider = Of<typeof provider>
export type GivenOwner = Of<typeof owner>
export type GivenAgent = Of<typeof agent>
export type GivenKey = Of<typeof key>
export type GivenDocument = Of<typeof document>
export type GivenTool = Of<typeof tool>
