/** The failures of each webhook as a metric: a series from the start, and not more series than there can be webhooks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from '../../src/observability/prom-client.ts'
import { webhookAttempts } from '../../src/observability/webhook-series.ts'

async function failuresIn(registry: InstanceType<typeof Registry>): Promise<Map<string, number>> {
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('turnkeep_webhook_failed_attempts_total{'))
  return new Map(lines.map((line) => [/webhook_id="([^"]+)"/.exec(line)![1]!, Number(line.split(' ').at(-1))]))
}

test('metrics: failed attempts are counted by webhook, from zero, and delivered ones are not', async () => {
  const registry = new Registry()
  const attempts = webhookAttempts([registry])
  attempts.known(['whk_a', 'whk_b'])
  assert.deepEqual(
    [...(await failuresIn(registry))],
    [
      ['whk_a', 0],
      ['whk_b', 0],
    ],
  )
  attempts.ended('whk_a', 'timeout')
  attempts.ended('whk_a', 'status')
  attempts.ended('whk_b', 'delivered')
  // A webhook that is disabled keeps its series.
  attempts.known(['whk_b'])
  assert.deepEqual(
    [...(await failuresIn(registry))],
    [
      ['whk_a', 2],
      ['whk_b', 0],
    ],
  )
})

test('metrics: a process that has seen many webhooks has series of the latest hundred only', async () => {
  const registry = new Registry()
  const attempts = webhookAttempts([registry])
  for (let number = 0; number < 1_000; number++) {
    attempts.known([`whk_${number}`, 'whk_stays'])
    attempts.ended(`whk_${number}`, 'connection')
    attempts.ended('whk_stays', 'connection')
  }
  // One that is gone may still have an attempt that ends.
  attempts.ended('whk_0', 'connection')
  const failures = await failuresIn(registry)
  assert.equal(failures.size, 100)
  assert.equal(failures.get('whk_stays'), 1_000)
  assert.ok(failures.has('whk_999') && !failures.has('whk_0'))
})
