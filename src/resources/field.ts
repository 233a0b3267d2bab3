/**
 * What a field of a resource is, as plain data. A resource, such as a webhook, is declared once, in the file of this folder with its name. Its
 * columns, request and response schemas, conversions, example, audited fields, options of the command line and the fields of `apply` are
 * derived from that declaration (docs/decisions/0055-declare-once.md). This file knows neither SQL nor HTTP.
 */

/** Which values a field can have. Each kind has one form in a row, one inside the service, and one in JSON. */
export type Kind = ScalarKind | ListKind | NullableKind
type ScalarKind =
  /** Lengths are in code points. */
  | { of: 'text'; min: number; max: number }
  | { of: 'id'; prefix: string }
  | { of: 'one'; values: readonly string[] }
  /** 0 or 1 in a row. */
  | { of: 'flag' }
  | { of: 'whole'; min: number; max: number }
  /** Epoch milliseconds in a row and inside, ISO 8601 in JSON. */
  | { of: 'time' }
  /** 10⁻⁸ USD in a row and inside, a decimal string in JSON. */
  | { of: 'usd' }
/** JSON in a row. */
type ListKind = { of: 'list'; item: ScalarKind; min: number; max: number }
type NullableKind = { of: 'null'; or: ScalarKind }

export const text = (min: number, max: number) => ({ of: 'text', min, max }) as const
export const id = <const Prefix extends string>(prefix: Prefix) => ({ of: 'id', prefix }) as const
export const one = <const Values extends readonly string[]>(...values: Values) => ({ of: 'one', values }) as const
export const flag = { of: 'flag' } as const
export const whole = (min: number, max: number) => ({ of: 'whole', min, max }) as const
export const time = { of: 'time' } as const
export const list = <const Item extends ScalarKind>(item: Item, min: number, max: number) => ({ of: 'list', item, min, max }) as const
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
        : K extends { of: 'whole' | 'time' }
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
  /** What a resource has that is created without the field. */
  initial?: unknown
  /** What a response says about it. */
  says?: string
  /** What a request says about it. */
  asks?: string
  /**
   * What the audit log shows of a field that requests set. Default: its value. `withheld`: only whether it changed. `origin`: of an address whose
   * path may contain credentials, the origin, and whether the rest changed.
   */
  audit?: 'withheld' | 'origin'
  /** Its value in the example of a response. */
  example: unknown
  /** The option of `create` and `update` on the command line. `no`: of its `--no-` form. `only`: `create` has an argument for it. */
  option?: { flags: string; says: string; no?: string; only?: 'change' }
}
export type Fields = Record<string, Field>

/** The name in JSON and in SQL. */
export const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : ''
export type NameOf<Name extends string, F extends Field> = F extends { name: infer Own extends string } ? Own : Snake<Name>

export const nameOf = (name: string, field: Field): string => field.name ?? snake(name)

/** The names of the fields of `F` that have what `Has` says. */
type Having<F extends Fields, Has> = { [Name in keyof F & string]: F[Name] extends Has ? Name : never }[keyof F & string]

/** The whole thing, inside the service. */
export type Resource<F extends Fields> = { [Name in keyof F & string]: ValueOf<F[Name]['kind']> }
/** What a request may set when it creates the thing: everything that is given or has an initial value. */
export type Given<F extends Fields> = { [Name in Having<F, { create: string }>]: ValueOf<F[Name]['kind']> }
export type Change<F extends Fields> = { [Name in Having<F, { change: true }>]?: ValueOf<F[Name]['kind']> }

/** A response with the whole thing. */
export type Answer<F extends Fields> = { [Name in keyof F & string as NameOf<Name, F[Name]>]: JsonOf<F[Name]['kind']> }
export type NewBody<F extends Fields> = {
  [Name in Having<F, { create: 'required' }> as NameOf<Name, F[Name]>]: JsonOf<F[Name]['kind']>
} & { [Name in Having<F, { create: 'optional' }> as NameOf<Name, F[Name]>]?: JsonOf<F[Name]['kind']> }
export type ChangeBody<F extends Fields> = { [Name in Having<F, { change: true }> as NameOf<Name, F[Name]>]?: JsonOf<F[Name]['kind']> }
