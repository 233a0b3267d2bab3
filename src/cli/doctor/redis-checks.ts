/**
 * The check of `turnkeep doctor` for the Redis or Valkey server that holds the rate-limit windows: whether it works, how fast, and its
 * eviction policy.
 */
import type { RedisFound } from '../../access/redis-inspection.ts'
import { settings } from '../../config/config.ts'
import { causeOf } from '../terminal/command-failed.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'

// One tenth of the 250 ms timeout (`rate.fail-closed`).
const slowMs = 25

export async function checkRedis(url: string): Promise<Finding> {
  const { inspectRedis } = await import('../../access/redis-inspection.ts')
  const shown = settings.redisUrl.shown(url)
  try {
    return judgeRedis(await inspectRedis(url), shown)
  } catch (error) {
    const fix =
      'Until it works, every request with an API key gets 503 api_rate_limit_unavailable. Check that it is running, and REDIS_URL.'
    return fail('rate windows', `cannot store rate-limit windows in ${shown}: ${causeOf(error)}`, fix)
  }
}

export function judgeRedis({ server, whenFull, spendMs }: RedisFound, shown: string): Finding {
  const check = 'rate windows'
  const says = `${server ?? 'the server'} at ${shown} responds in ${spendMs.toFixed(1)} ms`
  if (whenFull !== undefined && whenFull !== 'noeviction') {
    const fix = 'Set maxmemory-policy to noeviction: an evicted window starts again and allows more requests than its limit.'
    return warn(check, `${says}, but it evicts windows when its memory is full (${whenFull})`, fix)
  }
  if (spendMs > slowMs) return warn(check, says, 'Every request waits for it, up to 250 ms: run it close to Turnkeep.')
  return ok(check, says)
}
