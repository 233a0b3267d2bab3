/** The filters of conversations, in the page's address and in the request. Days are in the viewer's time zone. */
import type { Query } from '../../api/client.ts'

export const states = [
  { value: 'failed', label: 'Failed' },
  { value: 'released', label: 'Released' },
  { value: 'cancelled', label: 'Cancelled' },
  { value: 'running', label: 'Running' },
] as const
export const ratings = [
  { value: 'up', label: 'Up' },
  { value: 'down', label: 'Down' },
] as const

/** Empty: no filter. `q` is a text in a message. `from` and `to` are days, both inclusive. */
export type Filters = {
  q: string
  agent_id: string
  key_id: string
  external_user_id: string
  status: '' | (typeof states)[number]['value']
  rating: '' | (typeof ratings)[number]['value']
  from: string
  to: string
}

export const noFilters: Filters = { q: '', agent_id: '', key_id: '', external_user_id: '', status: '', rating: '', from: '', to: '' }
const names = Object.keys(noFilters) as (keyof Filters)[]

/** The filters in an address. Invalid days and unknown states are ignored. */
export function readFilters(params: URLSearchParams): Filters {
  const given = (name: keyof Filters): string => params.get(name) ?? ''
  const day = (name: 'from' | 'to'): string => (startOf(given(name)) ? given(name) : '')
  return {
    q: given('q'),
    agent_id: given('agent_id'),
    key_id: given('key_id'),
    external_user_id: given('external_user_id'),
    status: states.find(({ value }) => value === given('status'))?.value ?? '',
    rating: ratings.find(({ value }) => value === given('rating'))?.value ?? '',
    from: day('from'),
    to: day('to'),
  }
}

export const writeFilters = (filters: Filters): [keyof Filters, string][] =>
  names.filter((name) => filters[name] !== '').map((name) => [name, filters[name]])

export const isFiltered = (filters: Filters): boolean => writeFilters(filters).length > 0

/** The last day is before the first, so nothing can match. Days in this format sort as text. */
export const isBackwards = ({ from, to }: Filters): boolean => from !== '' && to !== '' && to < from

/** A turn was searched for, so each conversation has the one that was found. */
export const isSearch = ({ q, status, rating }: Filters): boolean => q !== '' || status !== '' || rating !== ''

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
