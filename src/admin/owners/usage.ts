/** Usage by hour or day, and by group, for the operator: validates the time range and the filters. The store computes the figures. */
import { invalid } from '../../errors.ts'
import type { UsageFilter } from '../../store/queries/reported-turns.ts'
import type { UsageFound } from '../../store/queries/usage.ts'
import type { Page, PageWanted } from '../../store/queries/paging.ts'
import type { AdminStore, PerRequest } from '../admin-store.ts'
import { linePage, linePages, wantsBy } from './usage-lines.ts'
import type { GroupedLine, LinesAsked, UsageGrouping } from './usage-lines.ts'

export type UsageFilterAsked = {
  ownerId?: string | undefined
  agentId?: string | undefined
  /** The key's ID, or its public part. */
  keyId?: string | undefined
  externalUserId?: string | undefined
}

type RangeAsked = {
  /** Epoch milliseconds. Default: enough buckets before `to` for a first look. */
  from?: number | undefined
  /** Default: now, by the store's clock. */
  to?: number | undefined
}
export type UsageAsked = UsageFilterAsked & RangeAsked & { bucket: 'hour' | 'day' }
export type GroupedUsageAsked = UsageFilterAsked & RangeAsked & { groupBy: UsageGrouping[] }

/** All throw ApiError `validation_error` for an empty or too long time range. */
export type UsageAdmin = {
  /** UTC buckets, oldest first. */
  readUsage(asked: UsageAsked): Promise<UsageFound>
  /** `billing.reports`: one page of lines, the oldest period first, and by ID within a period. */
  listUsageLines(asked: GroupedUsageAsked, page: PageWanted): Promise<Page<GroupedLine>>
  /** All lines in the same order, some thousands at a time. */
  readUsageLines(asked: GroupedUsageAsked): Promise<AsyncGenerator<GroupedLine[]>>
}

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs
/** A report must not block the reader for long: about 750 buckets at most. `shown` is one day of hours, or one month of days. */
const spans = {
  hour: { bucketMs: hourMs, maxMs: 31 * dayMs, longest: '31 days', shownMs: dayMs },
  day: { bucketMs: dayMs, maxMs: 400 * dayMs, longest: '400 days', shownMs: 30 * dayMs },
}

async function rangeOf(
  store: AdminStore,
  { from, to }: RangeAsked,
  bucket: 'hour' | 'day',
  what: string,
): Promise<{ from: number; to: number }> {
  const { maxMs, longest, shownMs } = spans[bucket]
  const end = to ?? (await store.read.storeTime()) + 1
  const start = from ?? end - shownMs
  if (start >= end) throw invalid('from', 'from must be before to.')
  if (end - start > maxMs) throw invalid('from', `from and to must be at most ${longest} apart${what}.`)
  return { from: start, to: end }
}

/** An unknown key has no turns, and its own text matches no ID. */
async function filterOf(store: AdminStore, { ownerId, agentId, keyId, externalUserId }: UsageFilterAsked): Promise<UsageFilter> {
  const apiKeyId = keyId === undefined ? undefined : ((await store.read.findApiKeyId(keyId)) ?? keyId)
  return { ownerId, agentId, apiKeyId, externalUserId }
}

async function linesAsked(store: AdminStore, asked: GroupedUsageAsked): Promise<LinesAsked> {
  const range = await rangeOf(store, asked, 'day', '')
  return { ...(await filterOf(store, asked)), ...range, ...wantsBy(asked.groupBy) }
}

export const usageAdmin: PerRequest<UsageAdmin> = {
  async readUsage({ store }, asked) {
    const range = await rangeOf(store, asked, asked.bucket, ` when bucket is ${asked.bucket}`)
    return store.read.usageByBucket({ ...(await filterOf(store, asked)), ...range, bucketMs: spans[asked.bucket].bucketMs })
  },
  listUsageLines: async ({ store }, asked, page) => linePage(store, await linesAsked(store, asked), page),
  readUsageLines: async ({ store }, asked) => linePages(store, await linesAsked(store, asked)),
}
