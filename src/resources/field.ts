/**
 * What a field of a resource is, as plain data. A resource, such as a webhook, is declared once, in the file of this folder with its name. Its
 * columns, request and response schemas, conversions, example, audited fields, options of the command line and the fields of `apply` follow
 * from that declaration (docs/decisions/0055-declare-once.md). This file knows neither SQL nor HTTP.
 */

/** Which values a field can have. Each kind has one form in a row, one inside the service, and one in JSON. */
export type Kind = ScalarKind | ListKind | NullableKind
type ScalarKind =
  /** Lengths are in code points. `pattern`: in requests; `as` says in words what the text must be. */
  | { of: 'text'; min: number; max: number; pattern?: string; as?: string }
  | { of: 'id'; prefix: string }
  | { of: 'one'; values: readonly string[] }
  /** 0 or 1 in a row. */
  | { of: 'flag' }
  | { of: 'whole'; min: number; max: number }
  | { of: 'number'; min: number; max: number }
  /** Epoch milliseconds in a row and inside, ISO 8601 in JSON. */
  | { of: 'time' }
  /** 10⁻⁸ USD in a row and inside, a decimal string in JSON. In a request, not negative. */
  | { of: 'usd' }
/** JSON in a row. `unique`: a request may have no item twice. */
type ListKind = { of: 'list'; item: ScalarKind; min: number; max: number; unique?: true }
type NullableKind = { of: 'null'; or: ScalarKind }

export const text = (min: number, max: number) => ({ of: 'text', min, max }) as const
export const id = <const Prefix extends string>(prefix: Prefix) => ({ of: 'id', prefix }) as const
export const one = <const Words extends readonly string[]>(...values: Words) => ({ of: 'one', values }) as const
export const flag = { of: 'flag' } as const
export const whole = (min: number, max: number) => ({ of: 'whole', min, max }) as const
export const number = (min: number, max: number) => ({ of: 'number', min, max }) as const
export const time = { of: 'time' } as const
export const usd = { of: 'usd' } as const
export const list = <const Item extends ScalarKind>(item: Item, min: number, max: number) => ({ of: 'list', item, min, max }) as const
export const setOf = <const Item extends ScalarKind>(item: Item, max: number) => ({ ...list(item, 0, max), unique: true }) as const
export const orNull = <const Or extends ScalarKind>(or: Or) => ({ of: 'null', or }) as const

/** The type of a value inside the service. */
export type ValueOf<K extends Kind> = K extends { of: 'null'; or: infer Or extends Kind }
  ? ValueOf<Or> | null
  : K extends { of: 'list'; item: infer Item extends Kind }
    ? ValueOf<Item>[]
    : K extends { of: 'one'; values: readonly (infer Value)[] }
      ? Value
      : K extends { of: 'flag' }
        ? boolean
        : K extends { of: 'whole' | 'number' | 'time' }
          ? number
          : K extends { of: 'usd' }
            ? bigint
            : string

/** The type of a value in JSON. */
export type JsonOf<K extends Kind> = K extends { of: 'null'; or: infer Or extends Kind }
  ? JsonOf<Or> | null
  : K extends { of: 'time' | 'usd' }
    ? string
    : K extends { of: 'list'; item: infer Item extends Kind }
      ? JsonOf<Item>[]
      : ValueOf<K>

export type Field = {
  kind: Kind
  /** In JSON. Default: the name of the field in snake case. */
  name?: string
  /** In the table. Default: the name of the field in snake case. Null: the field is computed. */
  column?: string | null
  /** Whether a request that creates the resource needs the field or may have it. Default: it has not. */
  create?: 'required' | 'optional'
  /** Whether a request that changes the resource may have it. */
  change?: true
  /** Whether a request that has its group must have it. */
  together?: true
  /** Of an agent: its name in the JSON of a version. Default: that of the field. */
  key?: string
  /** What a resource has that is created without the field. */
  initial?: unknown
  /** What a response says about it. */
  says?: string
  /** What a request says about it. */
  asks?: string
  /**
   * What the audit log shows of a field that requests set. Default: its value, which `shown` says of any other field. `withheld`: only whether
   * it changed. `origin`: of an address whose path may contain credentials, the origin, and whether the rest changed.
   */
  audit?: 'shown' | 'withheld' | 'origin'
  /** Its value in the example of a response. */
  example: unknown
  /**
   * The option of `create` and `update` on the command line. `no`: of its `--no-` form, which is false or null. `only`: `create` has an
   * argument for it.
   */
  option?: { flags: string; says: string; no?: string; only?: 'change' }
}
/**
 * By name. A name with a dot is of a field in a group: `history.maxTokens` is `history: { maxTokens }` inside the service, and
 * `history.max_tokens` in JSON.
 */
export type Fields = Record<string, Field>

/** The name in JSON and in SQL. */
export const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : ''
export type NameOf<Name extends string, F extends Field> = F extends { name: infer Own extends string } ? Own : Snake<Name>

export const nameOf = (name: string, field: Field): string => field.name ?? snake(name)

/** Returns the value of a name with or without a dot; undefined if its group is absent. */
export function valueAt(values: object, name: string): unknown {
  let found: unknown = values
  for (const part of name.split('.')) found = (found as Record<string, unknown> | null | undefined)?.[part]
  return found
}

/** Returns an object with these values, in groups where a name has a dot. */
export function grouped(entries: (readonly [name: string, value: unknown])[]): Record<string, unknown> {
  const made: Record<string, unknown> = {}
  for (const [name, value] of entries) {
    const [first, rest] = partsOf(name)
    if (rest === undefined) made[first] = value
    else made[first] = { ...(made[first] as object | undefined), [rest]: value }
  }
  return made
}

/** The same with what `groupOf` makes of each group. */
export function groupedAs<Value>(
  entries: (readonly [name: string, value: Value])[],
  groupOf: (group: Record<string, Value>, name: string) => Value,
): Record<string, Value> {
  const groups = new Set(entries.flatMap(([name]) => (name.includes('.') ? [partsOf(name)[0]] : [])))
  return Object.fromEntries(
    Object.entries(grouped(entries)).map(([name, made]) => [
      name,
      groups.has(name) ? groupOf(made as Record<string, Value>, name) : (made as Value),
    ]),
  )
}

/** Whether a request must have the field, or its group must have it where there is one. */
export const isRequired = ({ create, together }: Field, use: 'create' | 'change'): boolean =>
  together ?? (use === 'create' && create === 'required')

/** Groups are not nested. */
export function partsOf(name: string): [first: string, rest: string | undefined] {
  const dot = name.indexOf('.')
  return dot < 0 ? [name, undefined] : [name.slice(0, dot), name.slice(dot + 1)]
}

/** Whether a value from outside of the types is of this kind. Bounds are of requests, so that they can change. */
export function fits(kind: Kind, value: unknown): boolean {
  switch (kind.of) {
    case 'null':
      return value === null || fits(kind.or, value)
    case 'list':
      return Array.isArray(value) && value.every((item) => fits(kind.item, item))
    case 'one':
      return kind.values.some((known) => known === value)
    case 'flag':
      return typeof value === 'boolean'
    case 'whole':
    case 'time':
      return Number.isInteger(value)
    case 'number':
      return typeof value === 'number'
    case 'usd':
      return typeof value === 'bigint'
    default:
      return typeof value === 'string'
  }
}

/** The initial values of the fields that have one. */
export const initialOf = <F extends Fields>(fields: F): Values<F, Having<F, { initial: unknown }>> =>
  grouped(Object.entries(fields).flatMap(([name, { initial }]) => (initial === undefined ? [] : [[name, initial] as const]))) as Values<
    F,
    Having<F, { initial: unknown }>
  >

/** The same with the values that `change` has. */
export const changedBy = <F extends Fields>(fields: F, base: Resource<F>, change: object): Resource<F> =>
  grouped(
    Object.keys(fields).map((name) => {
      const value = valueAt(change, name)
      return [name, value === undefined ? valueAt(base as object, name) : value]
    }),
  ) as Resource<F>

type Put<Name extends string, T> = Name extends `${infer Group}.${infer Rest}` ? { [K in Group]: { [R in Rest]: T } } : { [K in Name]: T }
type PutOptional<Name extends string, T> = Name extends `${infer Group}.${infer Rest}`
  ? { [K in Group]?: { [R in Rest]?: T } }
  : { [K in Name]?: T }
/** Optional as a group, whose fields are given together. */
type PutTogether<Name extends string, T> = Name extends `${infer Group}.${infer Rest}` ? { [K in Group]?: { [R in Rest]: T } } : never
type All<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer Both) => void ? Both : never
type Flat<T> = { [K in keyof T]: T[K] }

/** The names of the fields of `F` that have what `Has` says. */
type Having<F extends Fields, Has> = { [Name in keyof F & string]: F[Name] extends Has ? Name : never }[keyof F & string]
type Values<F extends Fields, Names extends keyof F & string> = Flat<All<{ [Name in Names]: Put<Name, ValueOf<F[Name]['kind']>> }[Names]>>
type Parts<F extends Fields, Names extends keyof F & string> = Flat<
  All<{ [Name in Names]: PutOptional<Name, ValueOf<F[Name]['kind']>> }[Names]>
>
type InTable<F extends Fields> = Exclude<keyof F & string, Having<F, { column: null }>>

/** The whole thing, inside the service. */
export type Resource<F extends Fields> = Values<F, keyof F & string>
/** What a request sets when it creates the thing: what is given, and the initial values of the rest. */
export type Given<F extends Fields> = Values<F, Having<F, { create: string }>>
export type Change<F extends Fields> = Parts<F, Having<F, { change: true }>>
/** What its table has. */
export type Stored<F extends Fields> = Values<F, InTable<F>>
export type PartlyStored<F extends Fields> = Parts<F, InTable<F>>

/** A response with the whole thing. */
export type Answer<F extends Fields> = Flat<
  All<{ [Name in keyof F & string]: Put<NameOf<Name, F[Name]>, JsonOf<F[Name]['kind']>> }[keyof F & string]>
>
type Asked<Name extends string, F extends Field> = F extends { together: true }
  ? PutTogether<NameOf<Name, F>, JsonOf<F['kind']>>
  : PutOptional<NameOf<Name, F>, JsonOf<F['kind']>>
export type NewBody<F extends Fields> = Flat<
  All<
    {
      [Name in Having<F, { create: string }>]: F[Name] extends { create: 'required' }
        ? Put<NameOf<Name, F[Name]>, JsonOf<F[Name]['kind']>>
        : Asked<Name, F[Name]>
    }[Having<F, { create: string }>]
  >
>
export type ChangeBody<F extends Fields> = Flat<
  All<{ [Name in Having<F, { change: true }>]: Asked<Name, F[Name]> }[Having<F, { change: true }>]>
>
