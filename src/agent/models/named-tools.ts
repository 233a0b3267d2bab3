/**
 * Wraps a model so that every tool has a name that all providers accept, and translates the names in its calls back. Each call gets an id
 * that is unique in the prompt, a name of bounded length, and `{}` in place of missing arguments. Other errors in a call are left for the loop to report to the
 * model.
 */
import { maxCallId, maxCallName } from './answer-limit.ts'
import type { Model, ModelRequest, ModelStep, PromptMessage, ToolCall, ToolDefinition } from './model.ts'
import { isObject, parseObject } from './transport/fields.ts'

/** Accepted by all four APIs: OpenAI has the strictest rule, and Gemini does not allow a digit at the start. */
const takenName = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/
const maxName = 64

export function namedTools(model: Model): Model {
  return {
    async generate(request, call) {
      const names = nameTools(request)
      const step = await model.generate(
        {
          ...request,
          tools: request.tools.map((tool) => ({ ...tool, name: names.theirs(tool.name), parameters: asObjectSchema(tool) })),
          messages: request.messages.map((message) => renameCalls(message, names.theirs)),
        },
        call,
      )
      return { ...step, toolCalls: tidyCalls(step, request.messages, names.ours) }
    },
  }
}

type Names = { theirs(name: string): string; ours(name: string): string }

/** Maps names in both directions, including those of earlier calls whose tools are no longer offered. */
function nameTools({ tools, messages }: ModelRequest): Names {
  const theirs = new Map<string, string>()
  const ours = new Map<string, string>()
  const called = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
  // Names that are valid as they are come first, so that none of them is taken by the replacement for another name.
  const all = [...new Set([...tools, ...called].map(({ name }) => name))]
  for (const name of [...all.filter(isTaken), ...all.filter((one) => !isTaken(one))]) {
    const taken = isTaken(name) ? name : makeName(name, ours)
    theirs.set(name, taken)
    ours.set(taken, name)
  }
  const offered = new Set(tools.map(({ name }) => name))
  return {
    theirs: (name) => theirs.get(name) ?? name,
    ours(name) {
      const exact = ours.get(name)
      if (exact !== undefined) return exact
      const bare = bareName(name)
      const known = ours.get(bare) ?? bare
      return offered.has(known) ? known : name
    },
  }
}

const isTaken = (name: string): boolean => takenName.test(name)

function makeName(name: string, used: Map<string, string>): string {
  const base = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').replace(/^(?![a-zA-Z_])/, '_')
  for (let n = 0; ; n++) {
    const mark = n === 0 ? '' : `_${n + 1}`
    const made = base.slice(0, maxName - mark.length) + mark
    if (!used.has(made)) return made
  }
}

/**
 * Models may write names as in their training data: `functions.weather:0` (Kimi), `default_api.weather` (Gemini), or with spaces around
 * them.
 */
const bareName = (name: string): string =>
  name
    .trim()
    .replace(/^(functions|default_api)[.:]/, '')
    .replace(/:\d+$/, '')

/** OpenAI rejects a schema without `properties`, Anthropic one without `type`. */
function asObjectSchema({ parameters }: ToolDefinition): unknown {
  const schema = isObject(parameters) ? parameters : {}
  return { ...schema, type: 'object', properties: isObject(schema.properties) ? schema.properties : {} }
}

function renameCalls(message: PromptMessage, theirs: Names['theirs']): PromptMessage {
  if (message.role !== 'assistant' || !message.toolCalls) return message
  return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, name: theirs(call.name) })) }
}

function tidyCalls(step: ModelStep, messages: PromptMessage[], ours: Names['ours']): ToolCall[] {
  if (step.toolCalls.length === 0) return []
  const used = new Set(messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : [])).map(({ id }) => id))
  return step.toolCalls.map((call) => {
    // Some servers send no ids, the same ones in every step, or the same one twice. A tool result must identify exactly one call.
    const id = call.id === '' || call.id.length > maxCallId || used.has(call.id) ? freeId(used) : call.id
    used.add(id)
    return { id, name: ours(call.name.slice(0, maxCallName)), arguments: tidyArguments(call.arguments) }
  })
}

const noArguments = /^\s*(null)?\s*$/
// Some servers encode arguments once more than the API says, and some of them twice.
const maxEncodings = 3

/** Decodes arguments that were encoded too often. Anything that is not an object in the end stays as the model sent it. */
function tidyArguments(given: string): string {
  if (noArguments.test(given)) return '{}'
  let text = given
  for (let encodings = 0; encodings < maxEncodings && /^\s*"/.test(text); encodings++) {
    const decoded = decodedText(text)
    if (decoded === undefined) return given
    if (parseObject(decoded)) return decoded
    if (noArguments.test(decoded)) return '{}'
    text = decoded
  }
  return given
}

function decodedText(json: string): string | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/** Nine letters and digits, because Mistral's models accept nothing else. */
function freeId(used: Set<string>): string {
  for (let n = used.size; ; n++) {
    const id = `call${String(n).padStart(5, '0')}`
    if (!used.has(id)) return id
  }
}
