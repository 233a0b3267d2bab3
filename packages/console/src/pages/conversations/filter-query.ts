/** Which conversations are shown, as it stands in the page's address and as the server is asked. Days are the viewer's own. */
import type { Query } from '../../api/client.ts'

/** Empty: not asked for. `from` and `to` are days, both included. */
export type Filters = { agent_id: string; key_id: string; external_user_id: string; from: string; to: string }

export const noFilters: Filters = { agent_id: '', key_id: '', external_user_id: '', from: '', to: '' }
const names = Object.keys(noFilters) as (keyof Filters)[]

/** What an address says; a day that is none is passed over. */
export function readFilters(params: URLSearchParams): Filters {
  const filters = { ...noFilters }
  for (const name of names) filters[name] = params.get(name) ?? ''
  return { ...filters, from: startOf(filters.from) ? filters.from : '', to: startOf(filters.to) ? filters.to : '' }
}

export const writeFilters = (filters: Filters): [string, string][] =>
  names.filter((name) => filters[name] !== '').map((name) => [name, filters[name]])

export const isFiltered = (filters: Filters): boolean => writeFilters(filters).length > 0

/** The last day comes before the first: nothing can fit. Days of this form sort as text. */
export const isBackwards = ({ from, to }: Filters): boolean => from !== '' && to !== '' && to < from

/** The server's `to` is no longer included: the beginning of the day after. */
export function queryOf({ from, to, ...filters }: Filters): Query {
  return { ...filters, from: startOf(from)?.toISOString(), to: startOf(to, 1)?.toISOString() }
}

/** Midnight of a day in the viewer's zone, or of so many days later; never by adding hours, for some days have 23. */
function startOf(day: string, daysLater = 0): Date | undefined {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day) ?? []
  if (year === undefined) return undefined
  const midnight = new Date(Number(year), Number(month) - 1, Number(date) + daysLater)
  // Before 1970 is no moment to the server.
  return midnight.getTime() >= 0 ? midnight : undefined
}
