/** The fields of a declaration that a request of the admin API has under the same names: their readers follow from src/resources. */
import { groupedAs, isRequired, nameOf } from '../../resources/field.ts'
import type { ChangeBody, Fields, Kind, NewBody } from '../../resources/field.ts'
import { boolean, list, map, number, oneOf, optional, orNull, required, text, usd } from './readers.ts'
import type { Placed, Reader } from './readers.ts'

type Declared<Value> = Value extends readonly unknown[] ? Value : Value extends object ? Placed<Value> : Value
type Shape<Body> = {
  [Name in keyof Body]-?: {
    read: Reader<Declared<Exclude<Body[Name], undefined>>>
    required: undefined extends Body[Name] ? false : true
  }
}
type Readers = Record<string, { read: Reader<unknown>; required: boolean }>

/** The fields of a request that creates the resource, or that changes it. */
export function shapeOf<F extends Fields>(fields: F, use: 'create'): Shape<NewBody<F>>
export function shapeOf<F extends Fields>(fields: F, use: 'change'): Shape<ChangeBody<F>>
export function shapeOf(fields: Fields, use: 'create' | 'change'): Readers {
  const readers = Object.entries(fields).flatMap(([name, field]) =>
    field[use] ? [[nameOf(name, field), (isRequired(field, use) ? required : optional)(readerOf(field.kind))] as const] : [],
  )
  return groupedAs<Readers[string]>(readers, (group, name) => optional(map(name, group)))
}

function readerOf(kind: Kind): Reader<unknown> {
  switch (kind.of) {
    case 'null':
      return orNull(readerOf(kind.or))
    case 'text': {
      const { min, max, pattern, as } = kind
      return text(pattern === undefined ? { min, max } : { min, max, pattern: new RegExp(pattern, 'u'), as: as ?? pattern })
    }
    case 'id':
      return text({ min: 1, max: 100 })
    case 'one':
      return oneOf(kind.values)
    case 'flag':
      return boolean
    case 'whole':
      return number({ ...kind, whole: true })
    case 'number':
      return number({ ...kind, whole: false })
    case 'usd':
      return usd
    case 'list':
      return list(readerOf(kind.item), kind.max)
    case 'time':
      throw new Error('no request that apply sends has a time')
  }
}
