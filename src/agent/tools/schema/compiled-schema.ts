/**
 * Prepares the JSON Schema of a tool for checks, and finds what cannot be used in one before it is saved (`tools.arguments`). Nothing in
 * it is compiled to code, and nothing is fetched: a reference leads within the schema or nowhere.
 */
import { problemsOf, UnusableSchema } from './check-value.ts'
import type { Problem } from './check-value.ts'
import { canonical, isObject, show } from './keywords.ts'
import { InvalidPattern, linearPattern, UnsupportedPattern } from './linear-pattern.ts'
import type { CharacterTests, Pattern } from './linear-pattern.ts'
import { Operations } from './operations.ts'
import { findCircular, referencesOf } from './references.ts'
import { nodesOf } from './schema-nodes.ts'
import type { SchemaNode } from './schema-nodes.ts'

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
  const nodes = nodesOf(schema)
  const references = referencesOf(nodes)
  const { compiled: patterns, unsupported } = patternsOf(nodes)
  if (unsupported) throw new UnusableSchema(`the pattern ${unsupported.source} cannot be used: ${unsupported.why}`)
  const options = new Map<unknown, Set<string>>()
  const tracksEvaluated = nodes.some(({ node }) => node['unevaluatedProperties'] !== undefined || node['unevaluatedItems'] !== undefined)
  const refAlone = typeof schema['$schema'] === 'string' && /draft-0[467]/.test(schema['$schema'])

  return {
    check: (value, operations) =>
      problemsOf(value, schema, {
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
        target(from) {
          const reference = references.get(from)
          if (reference && reference.schema === undefined) throw new UnusableSchema(`the reference ${show(reference.to)} leads nowhere`)
          return reference?.schema
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
    const nodes = nodesOf(schema)
    const references = referencesOf(nodes)
    const lost = [...references.values()].find((reference) => reference.schema === undefined)
    if (lost) return `has a reference that leads nowhere, ${show(lost.to)} at ${show(lost.at)}`
    const circular = findCircular(nodes, references)
    if (circular) return `has a reference that leads back to itself, ${show(circular.to)} at ${show(circular.at)}`
    const { unsupported, invalid } = patternsOf(nodes)
    const refused = unsupported ?? (strict ? invalid : undefined)
    return refused && `has a pattern that cannot be used, ${show(refused.source)} at ${show(refused.at)}: ${refused.why}`
  } catch (error) {
    if (error instanceof UnusableSchema) return `is not a valid JSON Schema: ${error.message}`
    throw error
  }
}

type RefusedPattern = { source: string; at: string; why: string }

/** Compiles every pattern once. Returns the first one that has no automaton, and the first one that is no regular expression. */
function patternsOf(nodes: SchemaNode[]): { compiled: Map<string, Pattern>; unsupported?: RefusedPattern; invalid?: RefusedPattern } {
  const compiled = new Map<string, Pattern>()
  const tests: CharacterTests = new Map()
  let invalid: RefusedPattern | undefined
  let states = 0
  for (const { node, at } of nodes)
    for (const source of sourcesIn(node)) {
      if (compiled.has(source)) continue
      try {
        const pattern = linearPattern(source, tests)
        states += pattern.states
        if (states > maxStates) throw new UnsupportedPattern(`the patterns of the schema have more than ${maxStates} states together`)
        compiled.set(source, pattern)
      } catch (error) {
        // The schema cannot be used: reading more of it would cost as many states again for each pattern.
        if (error instanceof UnsupportedPattern) return { compiled, unsupported: { source, at, why: error.message } }
        if (!(error instanceof InvalidPattern)) throw error
        invalid ??= { source, at, why: 'it is not a valid regular expression' }
      }
    }
  return invalid ? { compiled, invalid } : { compiled }
}

function sourcesIn({ pattern, patternProperties }: JsonSchema): string[] {
  return [...(typeof pattern === 'string' ? [pattern] : []), ...(isObject(patternProperties) ? Object.keys(patternProperties) : [])]
}
