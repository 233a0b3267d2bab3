/** Usage by hour or day for the operator: validates the time range and the filters. The store computes the figures. */
import { ApiError } from '../../errors.ts'
import type { UsageFound } from '../../store/queries/usage.ts'
import type { AdminStore } from '../admin-store.ts'

export type UsageAsked = {
  ownerId?: string | undefined
  agentId?: string | undefined
  /** The key's ID, or its public part. */
  keyId?: string | undefined
  bucket: 'hour' | 'day'
  /** Epoch milliseconds. Default: enough buckets before `to` for a first look. */
  from?: number | undefined
  /** Default: now, by the store's clock. */
  to?: number | undefined
}

export type UsageAdmin = {
  /** UTC buckets, oldest first. Throws ApiError `validation_error` for an empty or too long time range. */
  readUsage(asked: UsageAsked): Promise<UsageFound>
}

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs
/** A report must not block the reader for long: about 750 buckets at most. `shown` is one day of hours, or one month of days. */
const spans = {
  hour: { bucketMs: hourMs, maxMs: 31 * dayMs, longest: '31 days', shownMs: dayMs },
  day: { bucketMs: dayMs, maxMs: 400 * dayMs, longest: '400 days', shownMs: 30 * dayMs },
}

export function createUsageAdmin({ store }: { store: AdminStore }): UsageAdmin {
  return {
    async readUsage({ ownerId, agentId, keyId, bucket, from, to }) {
      const { bucketMs, maxMs, longest, shownMs } = spans[bucket]
      const end = to ?? (await store.read.storeTime()) + 1
      const start = from ?? end - shownMs
      if (start >= end) throw new ApiError('validation_error', 'from must be before to.')
      if (end - start > maxMs)
        throw new ApiError('validation_error', `from and to must be at most ${longest} apart when bucket is ${bucket}.`)
      const apiKeyId = keyId === undefined ? undefined : ((await store.read.findApiKeyId(keyId)) ?? keyId)
      return store.read.usageByBucket({ ownerId, agentId, apiKeyId, from: start, to: end, bucketMs })
    },
  }
}
