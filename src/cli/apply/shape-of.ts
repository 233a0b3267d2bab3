/** The fields of a declaration that a request of the admin API has under the same names: their readers follow from src/resources. */
import { nameOf } from '../../resources/field.ts'
import type { Fields, JsonOf, Kind, NameOf } from '../../resources/field.ts'
import { boolean, list, number, oneOf, optional, orNull, required, text, usd } from './readers.ts'
import type { Reader } from './readers.ts'

type Created<F extends Fields> = { [Name in keyof F & string]: F[Name] extends { create: string } ? Name : never }[keyof F & string]
type Shape<F extends Fields> = {
  [Name in Created<F> as NameOf<Name, F[Name]>]: {
    read: Reader<JsonOf<F[Name]['kind']>>
    required: F[Name]['create'] extends 'required' ? true : false
  }
}

/** The fields that a request which creates the resource may have. */
export const shapeOf = <F extends Fields>(fields: F): Shape<F> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, { create }]) => create)
      .map(([name, field]) => [nameOf(name, field), (field.create === 'required' ? required : optional)(readerOf(field.kind))]),
  ) as Shape<F>

function readerOf(kind: Kind): Reader<unknown> {
  switch (kind.of) {
    case 'null':
      return orNull(readerOf(kind.or))
    case 'text':
      return text(kind)
    case 'id':
      return text({ min: 1, max: 100 })
    case 'one':
      return oneOf(kind.values)
    case 'flag':
      return boolean
    case 'whole':
      return number({ ...kind, whole: true })
    case 'usd':
      return usd
    case 'list':
      return list(readerOf(kind.item), kind.max)
    case 'time':
      throw new Error('no request that apply sends has a time')
  }
}
