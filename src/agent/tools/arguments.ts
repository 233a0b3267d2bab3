/**
 * Reads the arguments of a tool call (`tools.arguments`): turns the text that the model wrote into a JSON object that matches the tool's
 * schema, or into a sentence that tells the model what is wrong. Size, depth and number of operations are bounded for any text and any schema,
 * and no code is generated from either.
 */
import { cleanText } from '../clean-text.ts'
import { isObject, parseObject } from '../models/transport/fields.ts'
import { compileSchema, Operations, OperationsSpent } from './schema/compiled-schema.ts'
import type { CompiledSchema, Problem } from './schema/compiled-schema.ts'
import type { JsonSchema } from './tool-config.ts'

/**
 * The numbers of `args` keep all their digits: those that a double would change are raw (src/agent/exact-json.ts), after the schema was checked
 * with the nearest double. `operations`: how long the check took, whatever the machine.
 */
export type ReadArguments = ({ kind: 'read'; args: Record<string, unknown> } | { kind: 'refused'; text: string }) & { operations: number }

type Arguments = Record<string, unknown>

export interface ArgumentsReader {
  read(text: string, schema: JsonSchema): ReadArguments
}

// About two long pages of text; anything longer belongs in a document.
const maxBytes = 65_536
// Real arguments are nested about four deep.
const deepest = 32
// A check gets a number of operations that is linear in the arguments. Schemas in real use take a few operations for each character; a schema whose
// alternatives multiply would take more than there is time.
const baseOperations = 50_000
const operationsPerCharacter = 24
// Enough for the model to correct the call.
const maxErrors = 5
const maxCharacters = 1000
// Of a path, whose names the model chose.
const maxPath = 200

export function createArgumentsReader(): ArgumentsReader {
  const known = new WeakMap<JsonSchema, CompiledSchema>()

  function compiled(schema: JsonSchema): CompiledSchema {
    const found = known.get(schema) ?? compileOnce(schema)
    known.set(schema, found)
    return found
  }

  return {
    read(text, schema) {
      const parsed = parse(text)
      if (typeof parsed === 'string') return { kind: 'refused', text: parsed, operations: text.length }
      const operations = new Operations(baseOperations + operationsPerCharacter * text.length)
      const refused = (why: string): ReadArguments => ({ kind: 'refused', text: why, operations: operations.used })
      try {
        const check = compiled(schema)
        const problems = check.check(parsed, operations)
        // mutant: tools.arguments
        const args = parseObject(text) ?? {}
        return problems.length === 0 || fitsWithoutNulls([parsed, args], problems, check, operations)
          ? { kind: 'read', args, operations: operations.used }
          : refused(`The arguments do not fit the schema of the tool: ${say(problems)}`)
      } catch (error) {
        if (error instanceof OperationsSpent)
          return refused('The arguments could not be checked: the schema of the tool needs too many operations for them.')
        // For example, a reference to a definition that does not exist, or a keyword with a value of the wrong type.
        return refused('The arguments could not be checked: the schema of the tool is not usable.')
      }
    },
  }
}

/**
 * Models send null for an optional argument that they leave out. Removes each null that the schema does not allow, and returns whether the
 * rest fits. One that the schema requires is missing then, so the arguments are refused. `both`: the arguments as they are checked and as they
 * are passed on.
 */
function fitsWithoutNulls(both: Arguments[], problems: Problem[], { check }: CompiledSchema, operations: Operations): boolean {
  // A check reports a few problems, so there may be more nulls after it. Each round removes at least one.
  for (let open = problems; open.length > 0; open = check(both[0], operations)) {
    const removed = open.filter(({ at }) => both.every((args) => removeNull(args, at)))
    if (removed.length === 0) return false
  }
  return true
}

/** `at`: a path of the check. Returns whether a property with null was there. */
function removeNull(args: Arguments, at: string): boolean {
  const names = at
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = names.pop()
  let inside: unknown = args
  for (const name of names)
    inside = typeof inside === 'object' && inside !== null && Object.hasOwn(inside, name) ? inside[name as keyof object] : undefined
  if (last === undefined || !isObject(inside) || !Object.hasOwn(inside, last) || inside[last] !== null) return false
  return delete inside[last]
}

/** A schema that cannot be compiled is not compiled again for each call. */
function compileOnce(schema: JsonSchema): CompiledSchema {
  try {
    return compileSchema(schema)
  } catch (error) {
    return {
      check() {
        throw error
      },
    }
  }
}

/** Returns the parsed object, or a sentence that says what is wrong. */
function parse(text: string): Record<string, unknown> | string {
  if (Buffer.byteLength(text) > maxBytes) return `The arguments are longer than ${maxBytes} bytes.`
  // Models omit the arguments of a tool that takes none.
  if (text.trim() === '') return {}
  if (depthOf(text) > deepest) return `The arguments are nested more than ${deepest} deep.`
  try {
    const value: unknown = JSON.parse(text, refuseInfinite)
    return isObject(value) ? value : 'The arguments are not a JSON object.'
  } catch (error) {
    return error instanceof InfiniteNumber ? error.message : 'The arguments are not valid JSON.'
  }
}

class InfiniteNumber extends Error {}

function refuseInfinite(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new InfiniteNumber('The arguments contain a number that is too large. Write it as a string.')
  return value
}

/** Returns the nesting depth in one pass. A regular expression for strings would rescan from each quotation mark if one is never closed. */
function depthOf(text: string): number {
  let depth = 0
  let most = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') inString = !inString
    else if (inString && character === '\\') at++
    else if (!inString && (character === '[' || character === '{')) most = Math.max(most, ++depth)
    else if (!inString && (character === ']' || character === '}')) depth--
  }
  return most
}

function say(problems: Problem[]): string {
  const sentences = problems.slice(0, maxErrors).map(({ at, says }) => (at === '' ? says : `at ${at.slice(1, maxPath)}: ${says}`))
  // The messages contain names that the model chose, and the cut may split a surrogate pair.
  return cleanText(sentences.join(' ').slice(0, maxCharacters))
}
