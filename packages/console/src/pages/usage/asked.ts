/** The selection of the usage page, as in its address, and its time range. Buckets are UTC hours and days. */

export const rangeNames = ['24h', '7d', '30d', '90d', 'own'] as const
export type RangeName = (typeof rangeNames)[number]
export const rangeLabels: Record<RangeName, string> = { '24h': '24h', '7d': '7d', '30d': '30d', '90d': '90d', own: 'Custom range' }

/** Null: all of them. `from` and `to` are UTC days, both inclusive, and only used for a custom range. */
export type Asked = {
  range: RangeName
  from: string
  to: string
  ownerId: string | null
  agentId: string | null
  keyId: string | null
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
  }
}

export function writeAsked({ range, from, to, ownerId, agentId, keyId }: Asked): URLSearchParams {
  const own = range === 'own' ? { from, to } : {}
  const params = new URLSearchParams({ range })
  for (const [name, value] of Object.entries({ ...own, owner_id: ownerId, agent_id: agentId, key_id: keyId }))
    if (value) params.set(name, value)
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
    case 'own':
      return ownSpan(from, to)
  }
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

/** The start of the day in UTC, epoch milliseconds. */
function readDay(text: string): number | undefined {
  const start = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(start) || start < 0 ? undefined : start
}

/** The initial custom range: the last seven days. */
export const suggestedDays = (now: number): { from: string; to: string } => ({
  from: new Date(now - 6 * dayMs).toISOString().slice(0, 10),
  to: new Date(now).toISOString().slice(0, 10),
})
