/**
 * Usage by group (`billing.reports`): splits the time range into UTC days or months and reads the lines of each. Only one part of the lines is
 * in memory, and the store does the sums.
 */
import { decodeTextCursor, encodeTextCursor } from '../../store/queries/paging.ts'
import type { Page, PageWanted } from '../../store/queries/paging.ts'
import type { Period, UsageFilter } from '../../store/queries/reported-turns.ts'
import type { LineKey, UsageGroup, UsageLine } from '../../store/queries/usage-lines.ts'
import type { AdminStore } from '../admin-store.ts'

export const usageGroupings = ['owner', 'agent', 'api_key', 'end_user', 'day', 'month'] as const
export type UsageGrouping = (typeof usageGroupings)[number]

/** `month` is `2026-10`, `day` is `2026-10-31`, by UTC. Null if the lines are not grouped by it. */
export type GroupedLine = UsageLine & { month: string | null; day: string | null }

export type LinesAsked = UsageFilter & Period & { groupBy: UsageGroup[]; time: 'day' | 'month' | undefined }

/** Separates the groups of turns from the parts of the time range. A day is in one month, so `day` includes `month`. */
export function wantsBy(groupings: UsageGrouping[]): Pick<LinesAsked, 'groupBy' | 'time'> {
  const groupBy = groupings.filter((grouping) => grouping !== 'day' && grouping !== 'month')
  return { groupBy, time: groupings.includes('day') ? 'day' : groupings.includes('month') ? 'month' : undefined }
}

// About 4 MB, which is read in some tens of milliseconds. Each further part of a period adds up its turns again.
const linesEach = 10_000

/** Where a list of lines continues: after a line of a period. */
type Place = { label: string; key: LineKey }

/** Orders the periods of a list. */
const labelOf = ({ month, day }: Pick<GroupedLine, 'month' | 'day'>): string => day ?? month ?? ''

/** The page after the cursor. Throws ApiError `validation_error` for an invalid cursor. */
export async function linePage(store: AdminStore, asked: LinesAsked, { limit, cursor }: PageWanted): Promise<Page<GroupedLine>> {
  const lines: GroupedLine[] = []
  for await (const part of readParts(store, asked, cursor === undefined ? undefined : decodePlace(cursor), limit + 1)) {
    lines.push(...part)
    if (lines.length > limit) break
  }
  const data = lines.slice(0, limit)
  const last = data.at(-1)
  return { data, nextCursor: last && lines.length > limit ? encodePlace(last) : null }
}

/** All lines. Reads the first part before it resolves, so that an error is known before anything is sent. */
export async function linePages(store: AdminStore, asked: LinesAsked): Promise<AsyncGenerator<GroupedLine[]>> {
  const parts = readParts(store, asked, undefined, linesEach)
  const first = await parts.next()
  return (async function* () {
    if (first.done) return
    yield first.value
    yield* parts
  })()
}

async function* readParts(store: AdminStore, asked: LinesAsked, place: Place | undefined, limit: number): AsyncGenerator<GroupedLine[]> {
  const { time, ...wanted } = asked
  for (const { month, day, ...period } of periodsOf(asked, time)) {
    const label = labelOf({ month, day })
    if (place && label < place.label) continue
    for (let after = place && label === place.label ? place.key : undefined; ;) {
      const lines = await store.read.listUsageLines({ ...wanted, ...period, limit, after })
      if (lines.length > 0) yield lines.map((line) => ({ month, day, ...line }))
      if (lines.length < limit) break
      after = lines.at(-1)
    }
  }
}

/** The UTC days or months of a time range, or all of it. The first and the last may be parts of one. */
function* periodsOf(
  { from, to }: Period,
  time: 'day' | 'month' | undefined,
): Generator<Period & { month: string | null; day: string | null }> {
  if (time === undefined) return yield { from, to, month: null, day: null }
  for (let start = from; start < to;) {
    const date = new Date(start)
    const next =
      time === 'day'
        ? Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + 1)
        : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
    const text = date.toISOString()
    yield { from: start, to: Math.min(next, to), month: text.slice(0, 7), day: time === 'day' ? text.slice(0, 10) : null }
    start = next
  }
}

const encodePlace = (line: GroupedLine): string =>
  encodeTextCursor([labelOf(line), line.ownerId, line.agentId, line.apiKeyId, line.externalUserId, line.erasedConversationId])

function decodePlace(cursor: string): Place {
  const [label = '', ownerId = '', agentId = '', apiKeyId = '', externalUserId = '', erasedConversationId = ''] = decodeTextCursor(
    cursor,
    6,
  )
  return { label, key: { ownerId, agentId, apiKeyId, externalUserId, erasedConversationId } }
}
