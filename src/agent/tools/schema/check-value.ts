/**
 * Checks a value against a JSON Schema (drafts 4 to 2020-12) by interpreting it (`tools.arguments`). Every operation is counted, so that
 * neither a schema of a third party nor arguments of a model can make a check long: references that call each other, alternatives that
 * multiply, large arrays.
 */
import { isObject, keywords, show, typeOf } from './keywords.ts'
import type { CheckContext, SchemaObject } from './keywords.ts'
import type { Operations } from './operations.ts'

/** Thrown for a schema that no value can be checked against, such as one with a reference that leads nowhere. */
export class UnusableSchema extends Error {}

export type Problem = { /** Path of names and indexes. */ at: string; says: string }
export type ValueContext = CheckContext & {
  /** What the reference of a schema leads to; undefined if it has none. Throws UnusableSchema if it leads nowhere. */
  target(schema: SchemaObject): unknown
  /** Whether the schema has `unevaluatedProperties` or `unevaluatedItems`. */
  tracksEvaluated: boolean
  /** In drafts up to 7, the other keywords beside `$ref` are ignored. */
  refAlone: boolean
}

/**
 * The names or indexes of one value that some keyword has checked, for `unevaluatedProperties` and `unevaluatedItems`. Undefined if the schema
 * has neither of them.
 */
type Evaluated = Set<string | number> | undefined
type Place = { at: string; depth: number }

// Enough for a model to correct a call.
const maxProblems = 5
// References that lead to themselves are deeper; arguments are nested at most 32 deep.
const maxDepth = 300
// About as long as reading ten characters.
const operationsPerValue = 10

const escapePointer = (name: string | number): string => String(name).replaceAll('~', '~0').replaceAll('/', '~1')

/** Returns the first few problems; none if the value matches. Throws OperationsSpent or UnusableSchema. */
export function problemsOf(value: unknown, schema: unknown, context: ValueContext): Problem[] {
  return new Check(context).value(value, schema, { at: '', depth: 0 }, context.tracksEvaluated ? new Set() : undefined)
}

class Check {
  readonly #context: ValueContext
  readonly #operations: Operations

  constructor(context: ValueContext) {
    this.#context = context
    this.#operations = context.operations
  }

  /** Adds to `evaluated` what a matching value has been checked for. */
  value(value: unknown, schema: unknown, place: Place, evaluated: Evaluated): Problem[] {
    this.#operations.spend(operationsPerValue)
    if (schema === true) return []
    if (schema === false) return [{ at: place.at, says: 'Nothing is allowed here.' }]
    if (!isObject(schema) || place.depth > maxDepth) throw new UnusableSchema()
    const inside = { at: place.at, depth: place.depth + 1 }
    const problems: Problem[] = []
    const target = this.#context.target(schema)
    if (target !== undefined) problems.push(...this.value(value, target, inside, evaluated))
    if (this.#context.refAlone && schema['$ref'] !== undefined) return problems
    problems.push(...this.#simple(value, schema, place.at))
    problems.push(...this.#combined(value, schema, inside, evaluated))
    if (isObject(value)) problems.push(...this.#object(value, schema, inside, evaluated))
    else if (Array.isArray(value)) problems.push(...this.#array(value, schema, inside, evaluated))
    return problems.slice(0, maxProblems)
  }

  #simple(value: unknown, schema: SchemaObject, at: string): Problem[] {
    const names = Object.keys(schema)
    this.#operations.spend(names.length)
    return names.flatMap((name) => {
      const says = Object.hasOwn(keywords, name) ? keywords[name]!(value, schema[name], schema, this.#context) : undefined
      return says === undefined ? [] : [{ at, says }]
    })
  }

  #combined(value: unknown, schema: SchemaObject, place: Place, evaluated: Evaluated): Problem[] {
    const problems: Problem[] = []
    const matches = (one: unknown, into: Evaluated): boolean => this.value(value, one, place, into).length === 0
    for (const one of listOf(schema['allOf'])) problems.push(...this.value(value, one, place, evaluated))
    for (const name of ['anyOf', 'oneOf'] as const)
      if (schema[name] !== undefined) problems.push(...this.#alternatives(value, name, listOf(schema[name]), place, evaluated))
    if (schema['not'] !== undefined && matches(schema['not'], this.#fresh()))
      problems.push({ at: place.at, says: 'Instance matches a schema that it must not match.' })
    if (schema['if'] !== undefined) {
      const into = this.#fresh()
      const holds = matches(schema['if'], into)
      if (holds) this.#addAll(evaluated, into)
      const branch = schema[holds ? 'then' : 'else']
      if (branch !== undefined) problems.push(...this.value(value, branch, place, evaluated))
    }
    for (const name of ['dependentSchemas', 'dependencies'] as const) {
      const given = schema[name]
      if (!isObject(value) || !isObject(given)) continue
      for (const [key, one] of Object.entries(given)) {
        this.#operations.spend(1)
        if (!Object.hasOwn(value, key)) continue
        const dependent = Array.isArray(one) ? { required: one } : one
        problems.push(...this.value(value, dependent, place, evaluated))
      }
    }
    return problems
  }

  #alternatives(value: unknown, name: 'anyOf' | 'oneOf', schemas: unknown[], place: Place, evaluated: Evaluated): Problem[] {
    const all: Problem[] = []
    let matching = 0
    for (const one of schemas) {
      const into = this.#fresh()
      const problems = this.value(value, one, place, into)
      if (problems.length > 0) all.push(...problems.slice(0, maxProblems))
      else {
        matching++
        this.#addAll(evaluated, into)
      }
    }
    if (name === 'anyOf' ? matching > 0 : matching === 1) return []
    const says =
      name === 'anyOf' ? 'Instance does not match any subschemas.' : `Instance does not match exactly one subschema (${matching} matches).`
    return [{ at: place.at, says }, ...all]
  }

  #fresh(): Evaluated {
    return this.#context.tracksEvaluated ? new Set() : undefined
  }

  #addAll(evaluated: Evaluated, more: Iterable<string | number> | undefined): void {
    if (!evaluated || !more) return
    for (const one of more) {
      this.#operations.spend(1)
      evaluated.add(one)
    }
  }

  #object(value: SchemaObject, schema: SchemaObject, place: Place, evaluated: Evaluated): Problem[] {
    const names = Object.keys(value)
    this.#operations.spend(names.length)
    const problems: Problem[] = []
    const checked = new Set<string>()
    const check = (name: string, one: unknown): void => {
      checked.add(name)
      if (problems.length < maxProblems) problems.push(...this.value(value[name], one, within(place, name), this.#fresh()))
    }
    if (schema['propertyNames'] !== undefined)
      for (const name of names) {
        if (problems.length < maxProblems) problems.push(...this.value(name, schema['propertyNames'], within(place, name), this.#fresh()))
      }
    const { properties, patternProperties, additionalProperties, unevaluatedProperties } = schema
    if (isObject(properties))
      for (const name of Object.keys(properties)) {
        this.#operations.spend(1)
        if (Object.hasOwn(value, name)) check(name, properties[name])
      }
    if (isObject(patternProperties))
      for (const [source, one] of Object.entries(patternProperties)) {
        const pattern = this.#context.patternOf(source)
        if (pattern) for (const name of names) if (pattern.test(name, this.#operations)) check(name, one)
      }
    if (additionalProperties !== undefined)
      for (const name of names.filter((one) => !checked.has(one))) {
        if (additionalProperties === false) {
          checked.add(name)
          problems.push({ at: place.at, says: `Property ${show(name)} is not allowed.` })
        } else check(name, additionalProperties)
      }
    this.#addAll(evaluated, checked)
    if (unevaluatedProperties !== undefined)
      for (const name of names.filter((one) => !evaluated?.has(one))) {
        check(name, unevaluatedProperties)
        evaluated?.add(name)
      }
    return problems.slice(0, maxProblems)
  }

  #array(value: unknown[], schema: SchemaObject, place: Place, evaluated: Evaluated): Problem[] {
    const { prefixItems, items, additionalItems, contains, unevaluatedItems } = schema
    this.#operations.spend(unevaluatedItems === undefined ? 1 : value.length)
    const problems: Problem[] = []
    const check = (index: number, one: unknown): void => {
      evaluated?.add(index)
      if (problems.length < maxProblems) problems.push(...this.value(value[index], one, within(place, index), this.#fresh()))
    }
    // Up to 2019-09, a list of schemas is in `items`, and the schema of the rest in `additionalItems`.
    const first = Array.isArray(items) ? items : listOf(prefixItems)
    const rest = Array.isArray(items) ? additionalItems : items
    for (const [index, one] of first.entries()) if (index < value.length) check(index, one)
    if (rest !== undefined) for (let index = first.length; index < value.length; index++) check(index, rest)
    if (contains !== undefined) {
      const found = value.flatMap((item, index) =>
        this.value(item, contains, within(place, index), this.#fresh()).length === 0 ? [index] : [],
      )
      this.#addAll(evaluated, found)
      const says = countProblem(found.length, schema)
      if (says !== undefined) problems.push({ at: place.at, says })
    }
    if (unevaluatedItems !== undefined) for (const index of value.keys()) if (!evaluated?.has(index)) check(index, unevaluatedItems)
    return problems.slice(0, maxProblems)
  }
}

const within = ({ at, depth }: Place, name: string | number): Place => ({ at: `${at}/${escapePointer(name)}`, depth })

function countProblem(found: number, { minContains = 1, maxContains = Infinity }: SchemaObject): string | undefined {
  if (found < Number(minContains)) return `Array has ${found} items that match its "contains", not at least ${Number(minContains)}.`
  return found > Number(maxContains) ? `Array has ${found} items that match its "contains", not at most ${Number(maxContains)}.` : undefined
}

function listOf(schemas: unknown): unknown[] {
  if (schemas === undefined) return []
  if (Array.isArray(schemas)) return schemas
  throw new UnusableSchema(`a list of schemas is of type ${typeOf(schemas)}`)
}
