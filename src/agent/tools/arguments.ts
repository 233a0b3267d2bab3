/**
 * `tools.arguments`: the arguments of a tool call, as a model wrote them: any text becomes one JSON object that fits the tool's schema, or
 * a sentence for the model that says what is wrong. Bounded in size, depth and time, whatever text and schema are; never runs code made
 * from either.
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

// As long as two long pages of text; what is longer belongs into a document.
const maxBytes = 65_536
// Real ones are nested four deep.
const deepest = 32
// A schema in use is checked within a millisecond. What takes this long has an expression in it that never ends, and holds up the whole process.
const maxMs = 100
// One that is made to wait this often is not made to wait by chance.
const maxTries = 10
// Enough to mend a call by.
const maxErrors = 5
const maxCharacters = 1000

export function createArgumentsReader(): ArgumentsReader {
  const validators = new WeakMap<JsonSchema, Validator>()
  // The one way to stop an expression that backtracks for ever: the engine ends a script at its deadline, and all that it called.
  const context = createContext({ run: (): unknown => undefined })
  const script = new Script('run()')

  /** `undefined` where it took too long: by what it computed, since a busy machine may let it wait for as long. */
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
    // The package writes into what it is given.
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
        // a reference that leads nowhere
        return { kind: 'refused', text: 'The arguments could not be checked: the schema of the tool is not usable.' }
      }
    },
  }
}

/** Whether a schema can be used at all: its expressions are some, and its references lead somewhere. */
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

/** The object, or what is wrong. */
function parse(text: string): Record<string, unknown> | string {
  if (Buffer.byteLength(text) > maxBytes) return `The arguments are longer than ${maxBytes} bytes.`
  // Models leave them away where there are none.
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

/** A number that would be another one once it is read is refused: an id of twenty digits would name another order. */
function keepNumbers(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value === 'number' && (!Number.isFinite(value) || (/^-?\d+$/.test(context?.source ?? '') && !Number.isSafeInteger(value))))
    throw new LostNumber('The arguments hold a number that is too large to be kept as it is: write it as a string.')
  return value
}

/** Looks at each character once: an expression that finds strings would try anew from every quotation mark where one never ends. */
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

/** A copy without the expressions that are none: they check nothing, and would fail each call. */
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

// They only say that something below them is wrong, which stands in the list too.
const wrappers = ['properties', 'items', 'prefixItems', 'patternProperties', '$ref', 'false', 'allOf', 'if', 'dependentSchemas']

function say(errors: OutputUnit[]): string {
  const own = errors.filter(({ keyword }) => !wrappers.includes(keyword))
  const sentences = (own.length > 0 ? own : errors).slice(0, maxErrors).map(({ instanceLocation, error }) => {
    const place = instanceLocation.replace(/^#\/?/, '')
    return (place === '' ? error : `at ${place}: ${error}`).slice(0, maxCharacters)
  })
  // names of the model's own stand in them, and cuts between two halves of a character
  return cleanText(sentences.join(' ').slice(0, maxCharacters))
}

/** It may come from the context of the script, whose Error is not ours. */
function isTimeout(error: unknown): boolean {
  return isObject(error) && error['code'] === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
