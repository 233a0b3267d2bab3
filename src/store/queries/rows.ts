/** The fields of a resource in a table: which columns they have, and what their values are there. */
import { bigInteger, integer, text } from './columns.ts'
import type { Row, Sql, SqlValue } from '../sql.ts'
import { grouped, snake, valueAt } from '../../resources/field.ts'
import type { Field, Fields, Kind, PartlyStored, Stored } from '../../resources/field.ts'

const columnOf = (name: string, { column }: Field): string | null => (column === undefined ? snake(name).replace('.', '_') : column)

const storedIn = (fields: Fields): [name: string, column: string, kind: Kind][] =>
  Object.entries(fields).flatMap(([name, field]) => {
    const column = columnOf(name, field)
    return column === null ? [] : [[name, column, field.kind] as [string, string, Kind]]
  })

/** The columns of a `select`. */
export const columnsOf = (fields: Fields): string =>
  storedIn(fields)
    .map(([, column]) => column)
    .join(', ')

/** Reads a row that was selected with these columns. Throws if a column has another type. */
export function rowReader<F extends Fields>(fields: F): (row: Row) => Stored<F> {
  const stored = storedIn(fields)
  return (row) => grouped(stored.map(([name, column, kind]) => [name, readColumn(kind, row, column)])) as Stored<F>
}

function readColumn(kind: Kind, row: Row, column: string): unknown {
  switch (kind.of) {
    case 'null':
      return row[column] === null ? null : readColumn(kind.or, row, column)
    case 'text':
    case 'id':
    case 'one':
      return text(row, column)
    case 'flag':
      return integer(row, column) === 1
    case 'whole':
    case 'time':
      return integer(row, column)
    case 'number':
      return Number(row[column])
    case 'usd':
      return bigInteger(row, column)
    case 'list':
      // As `inColumn` has written it.
      return JSON.parse(text(row, column))
  }
}

function inColumn(kind: Kind, value: unknown): SqlValue {
  switch (kind.of) {
    case 'null':
      return value === null ? null : inColumn(kind.or, value)
    case 'flag':
      return value === true ? 1 : 0
    case 'list':
      return JSON.stringify(value)
    default:
      return value as SqlValue
  }
}

/** The columns and values of the fields that `values` has. A value that is undefined is left out. */
function written(fields: Fields, values: object): [column: string, value: SqlValue][] {
  return storedIn(fields).flatMap(([name, column, kind]) => {
    const value = valueAt(values, name)
    return value === undefined ? [] : [[column, inColumn(kind, value)] as [string, SqlValue]]
  })
}

/** `and`: columns that are no fields of the resource. */
export async function insertRow<F extends Fields>(
  sql: Sql,
  table: string,
  fields: F,
  values: PartlyStored<F>,
  and: Record<string, SqlValue> = {},
): Promise<void> {
  const columns = [...written(fields, values), ...Object.entries(and)]
  await sql.run(
    `insert into ${table} (${columns.map(([column]) => column).join(', ')}) values (${columns.map((_, at) => `$${at + 1}`).join(', ')})`,
    ...columns.map(([, value]) => value),
  )
}

/** Updates the row with this ID. Returns whether there is one. `and`: columns that are no fields of the resource. */
export async function updateRow<F extends Fields>(
  sql: Sql,
  table: string,
  fields: F,
  id: string,
  change: PartlyStored<F>,
  and: Record<string, SqlValue> = {},
): Promise<boolean> {
  const columns = [...written(fields, change), ...Object.entries(and)]
  if (columns.length === 0) return (await sql.all(`select 1 as one from ${table} where id = $1`, id)).length > 0
  const changed = await sql.run(
    `update ${table} set ${columns.map(([column], at) => `${column} = $${at + 2}`).join(', ')} where id = $1`,
    id,
    ...columns.map(([, value]) => value),
  )
  return changed > 0
}
