/** The selection of the usage page, as in its address, and the time ranges of the pages that show usage. Buckets are UTC hours and days. */

export const rangeNames = ['24h', '7d', '30d', '90d', 'month', 'last-month', 'own'] as const
export type RangeName = (typeof rangeNames)[number]
export const rangeLabels: Record<RangeName, string> = {
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
  month: 'This month',
  'last-month': 'Last month',
  own: 'Custom',
}

/** Null: all of them. `from` and `to` are UTC days, both inclusive, and only used for a custom range. */
export type Asked = {
  range: RangeName
  from: string
  to: string
  ownerId: string | null
  agentId: string | null
  keyId: string | null
  externalUserId: string | null
}

/** As in GET /usage. Without `to`: now. */
export type Span = { bucket: 'hour' | 'day'; from: string; to?: string }
export type SpanWrong = { field: 'from' | 'to'; wrong: string }

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** With this number of days, hours can still be distinguished on a phone. */
const maxHourlyDays = 3
/** The server's limit for days. */
const maxDays = 400

export function readAsked(params: URLSearchParams): Asked {
  const range = rangeNames.find((name) => name === params.get('range')) ?? '7d'
  return {
    range,
    from: params.get('from') ?? '',
    to: params.get('to') ?? '',
    ownerId: params.get('owner_id'),
    agentId: params.get('agent_id'),
    keyId: params.get('key_id'),
    externalUserId: params.get('external_user_id'),
  }
}

export function writeAsked({ range, from, to, ownerId, agentId, keyId, externalUserId }: Asked): URLSearchParams {
  const own = range === 'own' ? { from, to } : {}
  const params = new URLSearchParams({ range })
  const filters = { owner_id: ownerId, agent_id: agentId, key_id: keyId, external_user_id: externalUserId }
  for (const [name, value] of Object.entries({ ...own, ...filters })) if (value) params.set(name, value)
  return params
}

/** Whole buckets, including the current one. */
export function spanOf({ range, from, to }: Pick<Asked, 'range' | 'from' | 'to'>, now: number): Span | SpanWrong {
  const startOfHours = (count: number): string => new Date(Math.floor(now / hourMs) * hourMs - (count - 1) * hourMs).toISOString()
  const startOfDays = (count: number): string => new Date(Math.floor(now / dayMs) * dayMs - (count - 1) * dayMs).toISOString()
  switch (range) {
    case '24h':
      return { bucket: 'hour', from: startOfHours(24) }
    case '7d':
      return { bucket: 'day', from: startOfDays(7) }
    case '30d':
      return { bucket: 'day', from: startOfDays(30) }
    case '90d':
      return { bucket: 'day', from: startOfDays(90) }
    case 'month':
      return { bucket: 'day', from: monthStart(now, 0) }
    case 'last-month':
      return { bucket: 'day', from: monthStart(now, -1), to: monthStart(now, 0) }
    case 'own':
      return ownSpan(from, to)
  }
}

/** The start of the UTC month, that many months from the present one. */
function monthStart(now: number, months: number): string {
  const at = new Date(now)
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months)).toISOString()
}

/** The ranges that a page compares with the period of the same length before. */
export const comparedRanges = ['24h', '7d', '30d'] as const
export type ComparedRange = (typeof comparedRanges)[number]
const lengths: Record<ComparedRange, { ms: number; name: string }> = {
  '24h': { ms: dayMs, name: '24 hours' },
  '7d': { ms: 7 * dayMs, name: '7 days' },
  '30d': { ms: 30 * dayMs, name: '30 days' },
}

export const readCompared = (params: URLSearchParams): ComparedRange => comparedRanges.find((name) => name === params.get('range')) ?? '7d'

/** `name`: "previous 7 days". `previous` ends at the same time of day as now, so that a day that has not ended is compared with such a day. */
export function comparedSpans(range: ComparedRange, now: number): { name: string; current: Span; previous: Span & { to: string } } {
  const { ms, name } = lengths[range]
  const current = spanOf({ range, from: '', to: '' }, now) as Span
  const before = (time: number): string => new Date(time - ms).toISOString()
  return { name: `previous ${name}`, current, previous: { ...current, from: before(Date.parse(current.from)), to: before(now) } }
}

function ownSpan(from: string, to: string): Span | SpanWrong {
  const [start, lastDay] = [readDay(from), readDay(to)]
  if (start === undefined) return { field: 'from', wrong: 'Choose a start date.' }
  if (lastDay === undefined) return { field: 'to', wrong: 'Choose an end date.' }
  if (lastDay < start) return { field: 'to', wrong: 'The end date is before the start date.' }
  const days = (lastDay - start) / dayMs + 1
  if (days > maxDays) return { field: 'to', wrong: `Choose at most ${maxDays} days; this range has ${days}.` }
  return {
    bucket: days <= maxHourlyDays ? 'hour' : 'day',
    from: new Date(start).toISOString(),
    to: new Date(lastDay + dayMs).toISOString(),
  }
}

/** The start of the day in UTC, epoch milliseconds. Undefined for a day that does not exist, such as February 31. */
export function readDay(text: string): number | undefined {
  const start = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN
  // Date.parse reads February 31 as March 3.
  const exists = start >= 0 && new Date(start).toISOString().startsWith(text)
  return exists ? start : undefined
}

/** The initial custom range: the last seven days. */
export const suggestedDays = (now: number): { from: string; to: string } => ({
  from: new Date(now - 6 * dayMs).toISOString().slice(0, 10),
  to: new Date(now).toISOString().slice(0, 10),
})
