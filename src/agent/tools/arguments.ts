/**
 * Reads the arguments of a tool call (`tools.arguments`): turns the text that the model wrote into a JSON object that matches the tool's
 * schema, or into a sentence that tells the model what is wrong. Size, depth and time are bounded for any text and any schema, and no code
 * is generated from either.
 */
import { createContext, Script } from 'node:vm'
import { dereference, Validator } from '@cfworker/json-schema'
import type { OutputUnit, SchemaDraft } from '@cfworker/json-schema'
import { cleanText } from '../clean-text.ts'
import type { JsonSchema } from './tool-config.ts'

export type ReadArguments = { kind: 'read'; args: Record<string, unknown> } | { kind: 'refused'; text: string }

export interface ArgumentsReader {
  read(text: string, schema: JsonSchema): ReadArguments
}

// About two long pages of text; anything longer belongs in a document.
const maxBytes = 65_536
// Real arguments are nested about four deep.
const deepest = 32
// Milliseconds. A schema in real use is checked in less than one; a check that takes this long has a pattern with runaway backtracking,
// which blocks the whole process.
const maxMs = 100
// If the CPU budget is still not used up after this many timeouts, the cause is not a busy machine.
const maxTries = 10
// Enough for the model to correct the call.
const maxErrors = 5
const maxCharacters = 1000

export function createArgumentsReader(): ArgumentsReader {
  const validators = new WeakMap<JsonSchema, Validator>()
  // `vm` timeouts are the only way to stop a regular expression that backtracks without end: the engine terminates the script and all it
  // called.
  const context = createContext({ run: (): unknown => undefined })
  const script = new Script('run()')

  /**
   * Runs `work` and returns its result, or undefined if it took too long. The limit is on CPU time, because on a busy machine the
   * wall-clock timeout can fire while `work` is waiting for a core.
   */
  function withinTime<T>(work: () => T): T | undefined {
    let result: T | undefined
    context['run'] = () => void (result = work())
    const before = process.threadCpuUsage()
    for (let tries = 0; tries < maxTries; tries++) {
      try {
        script.runInContext(context, { timeout: maxMs })
        return result
      } catch (error) {
        if (!isTimeout(error)) throw error
      }
      const { user, system } = process.threadCpuUsage(before)
      if ((user + system) / 1000 >= maxMs) return undefined
    }
    return undefined
  }

  function validatorOf(schema: JsonSchema): Validator {
    const known = validators.get(schema)
    if (known) return known
    // `usableSchema` returns a copy, which is needed because the validator modifies the schema that it gets.
    const validator = new Validator(usableSchema(schema), draftOf(schema))
    validators.set(schema, validator)
    return validator
  }

  return {
    read(text, schema) {
      const parsed = parse(text)
      if (typeof parsed === 'string') return { kind: 'refused', text: parsed }
      try {
        const outcome = withinTime(() => validatorOf(schema).validate(parsed))
        if (!outcome) return { kind: 'refused', text: 'The arguments could not be checked against the schema of the tool in time.' }
        return outcome.valid
          ? { kind: 'read', args: parsed }
          : { kind: 'refused', text: `The arguments do not fit the schema of the tool: ${say(outcome.errors)}` }
      } catch {
        // For example, a reference to a definition that does not exist.
        return { kind: 'refused', text: 'The arguments could not be checked: the schema of the tool is not usable.' }
      }
    },
  }
}

/** Whether the validator can use the schema: all its patterns are valid regular expressions, and all its references resolve. */
export function isUsable(schema: JsonSchema): boolean {
  try {
    const copy = structuredClone(schema)
    const known = dereference(copy)
    const leadsNowhere = (node: { [keyword: string]: unknown }): boolean =>
      typeof node['__absolute_ref__'] === 'string' && known[node['__absolute_ref__']] === undefined
    return patternsOf(copy).every(isPattern) && !objectsIn(copy).some(leadsNowhere)
  } catch {
    return false
  }
}

/** Returns the parsed object, or a sentence that says what is wrong. */
function parse(text: string): Record<string, unknown> | string {
  if (Buffer.byteLength(text) > maxBytes) return `The arguments are longer than ${maxBytes} bytes.`
  // Models omit the arguments of a tool that takes none.
  if (text.trim() === '') return {}
  if (depthOf(text) > deepest) return `The arguments are nested more than ${deepest} deep.`
  try {
    const value: unknown = JSON.parse(text, keepNumbers)
    return isObject(value) ? value : 'The arguments are not a JSON object.'
  } catch (error) {
    return error instanceof LostNumber ? error.message : 'The arguments are not valid JSON.'
  }
}

class LostNumber extends Error {}

/** Rejects a number that JSON.parse would change. A 20-digit id, for example, would become the id of another order. */
function keepNumbers(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value === 'number' && (!Number.isFinite(value) || (/^-?\d+$/.test(context?.source ?? '') && !Number.isSafeInteger(value))))
    throw new LostNumber('The arguments hold a number that is too large to be kept as it is: write it as a string.')
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

function draftOf({ $schema }: JsonSchema): SchemaDraft {
  const named = typeof $schema === 'string' ? /draft-0([467])|2019-09/.exec($schema) : null
  if (!named) return '2020-12'
  return named[1] === undefined ? '2019-09' : named[1] === '4' ? '4' : '7'
}

/** Returns a copy of the schema without invalid patterns, which check nothing but would make every call fail. */
function usableSchema(schema: JsonSchema): JsonSchema {
  const copy = structuredClone(schema)
  for (const node of objectsIn(copy)) {
    if (typeof node['pattern'] === 'string' && !isPattern(node['pattern'])) delete node['pattern']
    const { patternProperties } = node
    if (isObject(patternProperties)) for (const key of Object.keys(patternProperties)) if (!isPattern(key)) delete patternProperties[key]
  }
  return copy
}

function patternsOf(schema: JsonSchema): string[] {
  return objectsIn(schema).flatMap(({ pattern, patternProperties }) => [
    ...(typeof pattern === 'string' ? [pattern] : []),
    ...(isObject(patternProperties) ? Object.keys(patternProperties) : []),
  ])
}

function objectsIn(value: unknown): Record<string, unknown>[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn)
  return isObject(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : []
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u').test('')
    return true
  } catch {
    return false
  }
}

// Keywords that only report an error below them. That error is in the list too.
const wrappers = ['properties', 'items', 'prefixItems', 'patternProperties', '$ref', 'false', 'allOf', 'if', 'dependentSchemas']

function say(errors: OutputUnit[]): string {
  const own = errors.filter(({ keyword }) => !wrappers.includes(keyword))
  const sentences = (own.length > 0 ? own : errors).slice(0, maxErrors).map(({ instanceLocation, error }) => {
    const place = instanceLocation.replace(/^#\/?/, '')
    return (place === '' ? error : `at ${place}: ${error}`).slice(0, maxCharacters)
  })
  // The messages contain names that the model chose, and the cut may split a surrogate pair.
  return cleanText(sentences.join(' ').slice(0, maxCharacters))
}

/** Checks the code, because the error may be an instance of the Error class of the script's context. */
function isTimeout(error: unknown): boolean {
  return isObject(error) && error['code'] === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
