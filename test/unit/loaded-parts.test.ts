/**
 * Packages of which single files are loaded instead of the whole: they are the same objects as the package's own, and nothing is missing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import promClient from 'prom-client'
import * as undici from 'undici'
import * as undiciParts from '../../src/agent/guard/undici.ts'
import * as promParts from '../../src/observability/prom-client.ts'

void test("loaded parts: those of undici are the package's own objects", () => {
  for (const [name, part] of Object.entries(undiciParts)) assert.equal(part, undici[name as keyof typeof undiciParts], name)
})

void test("loaded parts: those of prom-client are the package's own objects", () => {
  const { collectDefaultMetrics: _, ...parts } = promParts
  for (const [name, part] of Object.entries(parts)) assert.equal(part, promClient[name as keyof typeof parts], name)
})

void test('loaded parts: the default metrics are those of prom-client, in the same order', async () => {
  const [ours, theirs] = [new promClient.Registry(), new promClient.Registry()]
  promParts.collectDefaultMetrics(ours)
  promClient.collectDefaultMetrics({ register: theirs })
  const described = async (registry: promClient.Registry) =>
    (await registry.getMetricsAsJSON()).map(({ name, help, type, aggregator }) => ({ name, help, type, aggregator }))
  assert.deepEqual(await described(ours), await described(theirs))
})

void test('loaded parts: the CPU time is that of the process, each second of it counted once', async () => {
  const registry = new promClient.Registry()
  const from = process.cpuUsage()
  promParts.collectDefaultMetrics(registry)
  const figure = async (kind: string): Promise<number> =>
    (await registry.getSingleMetric(`process_cpu_${kind}seconds_total`)!.get()).values[0]?.value ?? 0
  for (let scrape = 0; scrape < 3; scrape++) {
    for (const until = performance.now() + 20; performance.now() < until;);
    await registry.metrics()
  }
  const counted = [await figure('user_'), await figure('system_'), await figure('')]
  // Read last: a figure counts up to its own reading.
  const { user, system } = process.cpuUsage(from)
  assert.ok(counted[0]! > 0 && counted[0]! <= user / 1e6 + 0.001, `${counted[0]} of ${user / 1e6} s`)
  assert.ok(counted[1]! <= system / 1e6 + 0.001, `${counted[1]} of ${system / 1e6} s`)
  assert.ok(Math.abs(counted[0]! + counted[1]! - counted[2]!) < 0.01, `${counted.join(' ')}`)
})
