/** What `turnkeep doctor` sees of the Redis or Valkey that holds the rate windows: can it hold one now, how fast, and what if it is full. */
import type { RedisFound } from '../../access/redis-inspection.ts'
import { settings } from '../../config/config.ts'
import { causeOf } from '../terminal/command-failed.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'

// A tenth of the 250 ms after which a request is refused.
const slowMs = 25

export async function checkRedis(url: string): Promise<Finding> {
  const { inspectRedis } = await import('../../access/redis-inspection.ts')
  const shown = settings.redisUrl.shown(url)
  try {
    return judgeRedis(await inspectRedis(url), shown)
  } catch (error) {
    const mend =
      'Until it answers, every request with an API key gets 503 api_rate_limit_unavailable. Is it running, and is REDIS_URL right?'
    return fail('rate windows', `${shown} cannot hold them: ${causeOf(error)}`, mend)
  }
}

export function judgeRedis({ server, whenFull, spendMs }: RedisFound, shown: string): Finding {
  const check = 'rate windows'
  const says = `${server ?? 'it'} at ${shown} answers in ${spendMs.toFixed(1)} ms`
  if (whenFull !== undefined && whenFull !== 'noeviction') {
    const mend = 'Set maxmemory-policy to noeviction: a window that is thrown away opens anew, and lets more through than its limit.'
    return warn(check, `${says}; when its memory is full it throws windows away (${whenFull})`, mend)
  }
  if (spendMs > slowMs) return warn(check, says, 'Each request waits for it, at most 250 ms: run it near Turnkeep.')
  return ok(check, says)
}
