/** The filters of conversations, in the page's address and in the request. Days are in the viewer's time zone. */
import type { Query } from '../../api/client.ts'

/** Empty: no filter. `from` and `to` are days, both inclusive. */
export type Filters = { agent_id: string; key_id: string; external_user_id: string; from: string; to: string }

export const noFilters: Filters = { agent_id: '', key_id: '', external_user_id: '', from: '', to: '' }
const names = Object.keys(noFilters) as (keyof Filters)[]

/** The filters in an address. Invalid days are ignored. */
export function readFilters(params: URLSearchParams): Filters {
  const filters = { ...noFilters }
  for (const name of names) filters[name] = params.get(name) ?? ''
  return { ...filters, from: startOf(filters.from) ? filters.from : '', to: startOf(filters.to) ? filters.to : '' }
}

export const writeFilters = (filters: Filters): [string, string][] =>
  names.filter((name) => filters[name] !== '').map((name) => [name, filters[name]])

export const isFiltered = (filters: Filters): boolean => writeFilters(filters).length > 0

/** The last day is before the first, so nothing can match. Days in this format sort as text. */
export const isBackwards = ({ from, to }: Filters): boolean => from !== '' && to !== '' && to < from

/** The server's `to` is exclusive: the start of the day after. */
export function queryOf({ from, to, ...filters }: Filters): Query {
  return { ...filters, from: startOf(from)?.toISOString(), to: startOf(to, 1)?.toISOString() }
}

/** Midnight of a day in the viewer's time zone, or of a number of days later. Hours are never added, because some days have 23. */
function startOf(day: string, daysLater = 0): Date | undefined {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day) ?? []
  if (year === undefined) return undefined
  const midnight = new Date(Number(year), Number(month) - 1, Number(date) + daysLater)
  // The server has no times before 1970.
  return midnight.getTime() >= 0 ? midnight : undefined
}
