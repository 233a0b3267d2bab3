/**
 * The parts of prom-client that are used, imported file by file, and its default metrics. Its index also loads a push gateway and
 * OpenTelemetry for exemplars, which are disabled: 70 modules, a tenth of the start time and 13 MB. Names, help texts and order are those
 * of its own `collectDefaultMetrics`; a test compares them.
 */
import { createRequire } from 'node:module'
import type * as PromClient from 'prom-client'

const part = createRequire(import.meta.url)
export const Registry = part('prom-client/lib/registry.js') as typeof PromClient.Registry
export const AggregatorRegistry = part('prom-client/lib/cluster.js') as typeof PromClient.AggregatorRegistry
export const Counter = part('prom-client/lib/counter.js') as typeof PromClient.Counter
export const Gauge = part('prom-client/lib/gauge.js') as typeof PromClient.Gauge
export const Histogram = part('prom-client/lib/histogram.js') as typeof PromClient.Histogram

/** In the original order. `processCpuTotal` comes before them; it is the one that loads OpenTelemetry. */
const defaults = [
  'processStartTime',
  'osMemoryHeap',
  'processOpenFileDescriptors',
  'processMaxFileDescriptors',
  'eventLoopLag',
  'processResources',
  'processHandles',
  'processRequests',
  'heapSizeAndUsed',
  'heapSpacesSizeAndUsed',
  'version',
  'gc',
]
// prom-client's default: the event loop is sampled every 10 ms.
const options = { eventLoopMonitoringPrecision: 10 }

export function collectDefaultMetrics(registry: PromClient.Registry): void {
  collectCpuTime(registry)
  for (const name of defaults)
    (part(`prom-client/lib/metrics/${name}.js`) as (registry: PromClient.Registry, given: object) => void)(registry, options)
}

function collectCpuTime(registry: PromClient.Registry): void {
  let last = process.cpuUsage()
  const counter = (kind: string, help: string, collect?: () => void) =>
    new Counter({ name: `process_cpu_${kind}seconds_total`, help, registers: [registry], ...(collect && { collect }) })
  // The first of the three is collected first and sets the others.
  const user = counter('user_', 'Total user CPU time spent in seconds.', () => {
    const now = process.cpuUsage()
    const [userSeconds, systemSeconds] = [(now.user - last.user) / 1e6, (now.system - last.system) / 1e6]
    last = now
    user.inc(userSeconds)
    system.inc(systemSeconds)
    total.inc(userSeconds + systemSeconds)
  })
  const system = counter('system_', 'Total system CPU time spent in seconds.')
  const total = counter('', 'Total user and system CPU time spent in seconds.')
}
