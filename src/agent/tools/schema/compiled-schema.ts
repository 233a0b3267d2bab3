/**
 * Prepares the JSON Schema of a tool for checks, and finds what cannot be used in one before it is saved (`tools.arguments`). Nothing in
 * it is compiled to code, and nothing is fetched: a reference leads within the schema or nowhere.
 */
import { dereference } from '@cfworker/json-schema'
import { problemsOf, UnusableSchema } from './check-value.ts'
import type { Problem } from './check-value.ts'
import { canonical, isObject, show } from './keywords.ts'
import { InvalidPattern, linearPattern, UnsupportedPattern } from './linear-pattern.ts'
import type { Pattern } from './linear-pattern.ts'
import { Operations } from './operations.ts'

export type { Problem } from './check-value.ts'
export { Operations, OperationsSpent } from './operations.ts'

type JsonSchema = { [keyword: string]: unknown }
export type CompiledSchema = {
  /** Returns the first few problems; none if the value matches. Throws OperationsSpent or UnusableSchema. */
  check(value: unknown, operations: Operations): Problem[]
}

// Of all patterns of a schema. They stay in memory as long as the agent does.
const maxStates = 20_000
// A schema of 64 KiB is shorter.
const optionOperations = 1_000_000

/** Throws UnusableSchema for a schema with a pattern that cannot be used, or that is nested too deeply. */
export function compileSchema(schema: JsonSchema): CompiledSchema {
  // A copy, because `dereference` writes into what it gets.
  const copy = structuredClone(schema)
  const known: Record<string, unknown> = dereference(copy)
  const { compiled: patterns, unsupported } = patternsOf(copy)
  if (unsupported) throw new UnusableSchema(`the pattern ${unsupported.source} cannot be used: ${unsupported.why}`)
  const options = new Map<unknown, Set<string>>()
  const tracksEvaluated = [...nodesOf(copy, '')].some(
    ({ node }) => node['unevaluatedProperties'] !== undefined || node['unevaluatedItems'] !== undefined,
  )
  const refAlone = typeof copy['$schema'] === 'string' && /draft-0[467]/.test(copy['$schema'])

  return {
    check: (value, operations) =>
      problemsOf(value, copy, {
        operations,
        refAlone,
        tracksEvaluated,
        patternOf: (source) => patterns.get(source),
        optionsOf(values) {
          // `const` gives a new list of the same value each time.
          const key = values.length === 1 ? values[0] : values
          const listed = options.get(key) ?? new Set(values.map((one) => canonical(one, new Operations(optionOperations))))
          options.set(key, listed)
          return listed
        },
        target(reference) {
          if (known[reference] === undefined) throw new UnusableSchema(`the reference ${reference} leads nowhere`)
          return known[reference]
        },
      }),
  }
}

/**
 * Returns why a schema cannot be used, as the end of a sentence that starts with its name, or undefined. `strict`: a text that is no regular
 * expression is a reason too; otherwise it checks nothing, because other languages write patterns differently.
 */
export function schemaProblem(schema: JsonSchema, strict: boolean): string | undefined {
  try {
    const copy = structuredClone(schema)
    const known: Record<string, unknown> = dereference(copy)
    const leadsNowhere = ({ __absolute_ref__: target }: JsonSchema): boolean => typeof target === 'string' && known[target] === undefined
    const lost = [...nodesOf(copy, '')].find(({ node }) => leadsNowhere(node))
    if (lost) return `has a reference that leads nowhere, ${show(lost.node['$ref'])} at ${show(lost.at)}`
    const circular = findCircular(copy, known)
    if (circular) return `has a reference that leads back to itself, ${show(circular.node['$ref'])} at ${show(circular.at)}`
    const { unsupported, invalid } = patternsOf(copy)
    const refused = unsupported ?? (strict ? invalid : undefined)
    return refused && `has a pattern that cannot be used, ${show(refused.source)} at ${show(refused.at)}: ${refused.why}`
  } catch (error) {
    if (error instanceof RangeError) return 'is nested too deeply'
    return `is not a valid JSON Schema: ${error instanceof Error ? error.message.slice(0, 200) : 'unknown error'}`
  }
}

/**
 * Finds a reference that leads back to itself without going into the value, so that no check would ever end. A reference below `properties`
 * or `items` may lead back: the value ends.
 */
function findCircular(schema: JsonSchema, known: Record<string, unknown>): { node: JsonSchema; at: string } | undefined {
  const ended = new Set<unknown>()
  const isCircular = (node: unknown, above: Set<unknown>): boolean => {
    if (!isObject(node) || ended.has(node)) return false
    if (above.has(node)) return true
    above.add(node)
    const found = appliedToSame(node, known).some((next) => isCircular(next, above))
    above.delete(node)
    if (!found) ended.add(node)
    return found
  }
  return [...nodesOf(schema, '')].find(({ node }) => node['__absolute_ref__'] !== undefined && isCircular(node, new Set()))
}

/** The schemas that a schema applies to the same value. */
function appliedToSame(node: JsonSchema, known: Record<string, unknown>): unknown[] {
  const { allOf, anyOf, oneOf, not, if: condition, then, else: otherwise, dependentSchemas } = node
  return [
    ...[node['__absolute_ref__'], node['__absolute_recursive_ref__']].flatMap((target) =>
      typeof target === 'string' ? known[target] : [],
    ),
    ...[allOf, anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : [])),
    not,
    condition,
    then,
    otherwise,
    ...(isObject(dependentSchemas) ? Object.values(dependentSchemas) : []),
  ]
}

type RefusedPattern = { source: string; at: string; why: string }

/** Compiles every pattern once. Returns the first one that has no automaton, and the first one that is no regular expression. */
function patternsOf(schema: JsonSchema): { compiled: Map<string, Pattern>; unsupported?: RefusedPattern; invalid?: RefusedPattern } {
  const compiled = new Map<string, Pattern>()
  const refused: { unsupported?: RefusedPattern; invalid?: RefusedPattern } = {}
  let states = 0
  for (const { node, at } of nodesOf(schema, ''))
    for (const source of sourcesIn(node)) {
      if (compiled.has(source)) continue
      try {
        const pattern = linearPattern(source)
        states += pattern.states
        if (states > maxStates) throw new UnsupportedPattern(`the patterns of the schema have more than ${maxStates} states together`)
        compiled.set(source, pattern)
      } catch (error) {
        if (error instanceof UnsupportedPattern) refused.unsupported ??= { source, at, why: error.message }
        else if (error instanceof InvalidPattern) refused.invalid ??= { source, at, why: 'it is not a valid regular expression' }
        else throw error
      }
    }
  return { compiled, ...refused }
}

function sourcesIn({ pattern, patternProperties }: JsonSchema): string[] {
  return [...(typeof pattern === 'string' ? [pattern] : []), ...(isObject(patternProperties) ? Object.keys(patternProperties) : [])]
}

// Keywords whose value is data, and those whose value has a schema under each name.
const data = ['enum', 'const', 'default', 'examples']
const maps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']

/** All schemas within a schema, with their paths. */
function* nodesOf(value: unknown, at: string): Generator<{ node: JsonSchema; at: string }> {
  if (Array.isArray(value)) for (const [index, one] of value.entries()) yield* nodesOf(one, `${at}/${index}`)
  if (!isObject(value)) return
  yield { node: value, at }
  for (const [keyword, inner] of Object.entries(value)) {
    if (data.includes(keyword)) continue
    if (maps.includes(keyword) && isObject(inner))
      for (const [name, one] of Object.entries(inner)) yield* nodesOf(one, `${at}/${keyword}/${name}`)
    else yield* nodesOf(inner, `${at}/${keyword}`)
  }
}
