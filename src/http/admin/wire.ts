/**
 * The fields of a resource in the admin API: the schemas of its requests and responses, and the conversions between JSON and the values inside the
 * service. All of it follows from the declaration of the resource in src/resources.
 */
import type { Static as TypeOf, TSchema } from 'typebox'
import { nameOf } from '../../resources/field.ts'
import type { Answer, Change, ChangeBody, Field, Fields, Given, Kind, NewBody, Resource } from '../../resources/field.ts'
import { toJson } from '../../resources/json.ts'
import { AmountUsd, Time, idOf } from './answer-fields.ts'
import { Usd, idGiven, readUsd, wellFormed } from './fields.ts'
import { Type } from '../edge/schema.ts'

const closed = { additionalProperties: false } as const

type Properties = Record<string, TSchema>
type Static<P extends Properties> = TypeOf<ReturnType<typeof Type.Object<P>>>

/** A response with all fields of the resource, and with other properties after them. */
export const answerOf = <F extends Fields, P extends Properties = {}>(fields: F, more?: P) =>
  Type.Unsafe<Answer<F> & Static<P>>(Type.Object({ ...answerProperties(fields), ...more }))

const answerProperties = (fields: Fields): Properties =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [nameOf(name, field), described(answered(field.kind), field.says)]))

/** The example of a response, as JSON. */
export const exampleOf = <F extends Fields>(fields: F): Answer<F> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [nameOf(name, field), field.example])) as Answer<F>

export function writerOf<F extends Fields>(fields: F): (thing: Resource<F>) => Answer<F> {
  const names = Object.entries(fields).map(([name, field]) => [name, nameOf(name, field), field.kind] as const)
  return (thing) =>
    Object.fromEntries(names.map(([name, written, kind]) => [written, toJson(kind, (thing as Record<string, unknown>)[name])])) as Answer<F>
}

/** The body of a request that creates the resource. `more`: further properties. */
export const newBodyOf = <F extends Fields>(fields: F) =>
  Type.Unsafe<NewBody<F>>(
    Type.Object(
      requested(
        fields,
        ({ create }) => create,
        ({ create }) => create === 'required',
      ),
      { ...closed, examples: [newExample(fields)] },
    ),
  )

/** The body of a request that changes the resource. */
export const changeBodyOf = <F extends Fields>(fields: F, example: ChangeBody<F>) =>
  Type.Unsafe<ChangeBody<F>>(
    Type.Object(
      requested(
        fields,
        ({ change }) => change,
        () => false,
      ),
      { ...closed, examples: [example] },
    ),
  )

/** Throws ApiError `validation_error` naming the field. A field that is not given has its initial value. */
export const readNew = <F extends Fields>(fields: F, body: NewBody<F>): Given<F> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, { create }]) => create)
      .map(([name, field]) => [name, readField(nameOf(name, field), field, body as Body, field.initial)]),
  ) as Given<F>

/** Has the fields that are given. Throws ApiError `validation_error` naming the field. */
export const readChange = <F extends Fields>(fields: F, body: ChangeBody<F>): Change<F> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([name, field]) => field.change && (body as Body)[nameOf(name, field)] !== undefined)
      .map(([name, field]) => [name, readField(nameOf(name, field), field, body as Body, undefined)]),
  ) as Change<F>

type Body = Record<string, unknown>

function readField(name: string, { kind }: Field, body: Body, initial: unknown): unknown {
  return body[name] === undefined ? initial : read(kind, name, body[name])
}

const requested = (fields: Fields, mayHave: (field: Field) => unknown, mustHave: (field: Field) => boolean): Record<string, TSchema> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, field]) => mayHave(field))
      .map(([name, field]) => {
        const schema = described(asked(field.kind), field.asks)
        return [nameOf(name, field), mustHave(field) ? schema : Type.Optional(schema)]
      }),
  )

/** What is required, and what differs from the initial values. */
const newExample = (fields: Fields): object =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, { create, initial, example }]) => create === 'required' || (create && example !== initial))
      .map(([name, field]) => [nameOf(name, field), field.example]),
  )

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
      return wellFormed({ minLength: kind.min, maxLength: kind.max })
    case 'id':
      return idGiven(kind.prefix)
    case 'whole':
      return Type.Integer({ minimum: kind.min, maximum: kind.max })
    case 'usd':
      return Usd
    case 'list':
      return Type.Array(asked(kind.item), { minItems: kind.min, maxItems: kind.max })
    default:
      return answered(kind)
  }
}

function read(kind: Kind, name: string, value: unknown): unknown {
  switch (kind.of) {
    case 'null':
      return value === null ? null : read(kind.or, name, value)
    case 'usd':
      return readUsd(name, value as string)
    default:
      return value
  }
}
