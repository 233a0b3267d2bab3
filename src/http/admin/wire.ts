/**
 * The fields of a resource in the admin API: the schemas of its requests and responses, and the conversions between JSON and the values inside
 * the service. All of it follows from the declaration of the resource in src/resources.
 */
import type { TOptional, TSchema, TUnsafe } from 'typebox'
import { invalid } from '../../errors.ts'
import { grouped, groupedAs, isRequired, nameOf, valueAt } from '../../resources/field.ts'
import type { Answer, Change, ChangeBody, Field, Fields, Given, Kind, NewBody, Resource } from '../../resources/field.ts'
import { toJson } from '../../resources/json.ts'
import { AmountUsd, Time, idOf } from './answer-fields.ts'
import { Moment, Usd, idGiven, readMoment, readUsd, wellFormed } from './fields.ts'
import { inWords } from '../edge/invalid-input.ts'
import { Type } from '../edge/schema.ts'

const closed = { additionalProperties: false } as const

type Properties = Record<string, TSchema>
type Typed<Object> = {
  [Name in keyof Object]-?: undefined extends Object[Name] ? TOptional<TUnsafe<Exclude<Object[Name], undefined>>> : TUnsafe<Object[Name]>
}

/** The properties of a response with all fields of the resource. */
export const answerProperties = <F extends Fields>(fields: F): Typed<Answer<F>> =>
  groupedAs(
    Object.entries(fields).map(([name, field]) => [nameOf(name, field), described(answered(field.kind), field.says)]),
    (properties) => Type.Object(properties),
  ) as Typed<Answer<F>>

/** The example of a response, as JSON. */
export const exampleOf = <F extends Fields>(fields: F): Answer<F> =>
  grouped(Object.entries(fields).map(([name, field]) => [nameOf(name, field), field.example])) as Answer<F>

export function writerOf<F extends Fields>(fields: F): (thing: Resource<F>) => Answer<F> {
  const names = Object.entries(fields).map(([name, field]) => [name, nameOf(name, field), field.kind] as const)
  return (thing) => grouped(names.map(([name, written, kind]) => [written, toJson(kind, valueAt(thing, name))])) as Answer<F>
}

/** The properties of a request that creates the resource, or that changes it. */
export const newProperties = <F extends Fields>(fields: F) => requested(fields, 'create') as Typed<NewBody<F>>
export const changeProperties = <F extends Fields>(fields: F) => requested(fields, 'change') as Typed<ChangeBody<F>>

/** What is required to create the resource, and what differs from the initial values. */
export const newExample = (fields: Fields): Record<string, unknown> =>
  grouped(
    Object.entries(fields)
      .filter(([, { create, initial, example }]) => create === 'required' || (create && example !== initial))
      .map(([name, field]) => [nameOf(name, field), field.example]),
  )

/** Throws ApiError `validation_error` naming the field. A field that is not given has its initial value. */
export const readNew = <F extends Fields>(fields: F, body: NewBody<F>): Given<F> =>
  grouped(
    Object.entries(fields)
      .filter(([, { create }]) => create)
      .map(([name, field]) => {
        const value = readField(name, field, body as object)
        return [name, value === undefined ? field.initial : value]
      }),
  ) as Given<F>

/** Has the fields that are given. Throws ApiError `validation_error` naming the field. */
export const readChange = <F extends Fields>(fields: F, body: ChangeBody<F>): Change<F> =>
  grouped(
    Object.entries(fields).flatMap(([name, field]) => {
      const value = field.change && readField(name, field, body as object)
      return value === undefined ? [] : [[name, value] as const]
    }),
  ) as Change<F>

function readField(name: string, field: Field, body: object): unknown {
  const written = nameOf(name, field)
  const value = valueAt(body, written)
  return value === undefined ? undefined : read(field.kind, written, value)
}

/** A group is optional, and a field may be required in it. */
function requested(fields: Fields, use: 'create' | 'change'): Properties {
  const properties = Object.entries(fields).flatMap(([name, field]) => {
    if (!field[use]) return []
    const schema = described(asked(field.kind), field.asks)
    return [[nameOf(name, field), isRequired(field, use) ? schema : Type.Optional(schema)] as const]
  })
  return groupedAs(properties, (group) => Type.Optional(Type.Object(group, closed)))
}

const described = (schema: TSchema, description: string | undefined): TSchema =>
  description === undefined ? schema : { ...schema, description }

function answered(kind: Kind): TSchema {
  switch (kind.of) {
    case 'null':
      return Type.Union([answered(kind.or), Type.Null()])
    case 'text':
      return Type.String()
    case 'id':
      return idOf(kind.prefix)
    case 'one':
      return Type.Enum([...kind.values])
    case 'flag':
      return Type.Boolean()
    case 'whole':
      return Type.Integer({ minimum: kind.min })
    case 'number':
      return Type.Number()
    case 'time':
      return Time
    case 'usd':
      return AmountUsd
    case 'list':
      return Type.Array(answered(kind.item))
  }
}

function asked(kind: Kind): TSchema {
  switch (kind.of) {
    case 'null':
      return Type.Union([asked(kind.or), Type.Null()])
    case 'text':
      return kind.pattern === undefined
        ? wellFormed({ ...(kind.min > 0 && { minLength: kind.min }), maxLength: kind.max })
        : Type.String({ maxLength: kind.max, pattern: inWords(kind.pattern, kind.as!) })
    case 'id':
      return idGiven(kind.prefix)
    case 'whole':
      return Type.Integer({ minimum: kind.min, maximum: kind.max })
    case 'number':
      return Type.Number({ minimum: kind.min, maximum: kind.max })
    case 'usd':
      return Usd
    case 'time':
      return Moment
    case 'list':
      return Type.Array(asked(kind.item), { minItems: kind.min, maxItems: kind.max, ...(kind.unique && { uniqueItems: true }) })
    default:
      return answered(kind)
  }
}

function read(kind: Kind, name: string, value: unknown): unknown {
  switch (kind.of) {
    case 'null':
      return value === null ? null : read(kind.or, name, value)
    case 'usd': {
      const amount = readUsd(name, value as string)
      if (amount < 0n) throw invalid(name, `${name} must not be negative.`)
      return amount
    }
    case 'time':
      return readMoment(name, value as string)
    default:
      return value
  }
}
