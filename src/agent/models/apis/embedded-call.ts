/** Reads a tool call that a model wrote into its text, because its server does not parse them. Pure. */
import { parseExact } from '../../exact-json.ts'
import { isObject, jsonOf } from '../transport/fields.ts'

export type EmbeddedCall = { name: string; arguments: string }

/** `written`: what is between the marks: JSON, or the tags of Qwen's coding models. Undefined if it is neither. */
export function embeddedCall(written: string): EmbeddedCall | undefined {
  return fromTags(written) ?? fromJson(written)
}

function fromJson(written: string): EmbeddedCall | undefined {
  try {
    const value = parseExact(written.trim())
    const call = isObject(value) && isObject(value.function) ? value.function : value
    if (!isObject(call) || typeof call.name !== 'string') return undefined
    const given = call.arguments ?? call.parameters ?? {}
    return { name: call.name, arguments: typeof given === 'string' ? given : (jsonOf(given) ?? '') }
  } catch {
    return undefined
  }
}

function fromTags(written: string): EmbeddedCall | undefined {
  const [, name] = /^\s*<function=([\w.-]{1,128})>/.exec(written) ?? []
  if (name === undefined) return undefined
  const parameters = written.split('</parameter>').flatMap((part) => {
    const [, key, value] = /<parameter=([\w.-]{1,128})>\n?([^]*)$/.exec(part) ?? []
    return key === undefined || value === undefined ? [] : [[key, valueOf(value.replace(/\n$/, ''))] as const]
  })
  const given = Object.fromEntries(parameters)
  return { name, arguments: jsonOf(given) ?? '' }
}

/** The tags do not say whether a value is a text. Everything but plain JSON is one. */
function valueOf(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return text
  }
}
