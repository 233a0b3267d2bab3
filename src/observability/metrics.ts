/**
 * Counts what operators watch and formats it for /metrics. Labels never contain an ID, a name or a text, so the number of series is bounded
 * by the error table. Counting is an addition; values that can be looked up are read when /metrics is requested. Also adds up the counts of
 * several processes. docs/operate/metrics.md lists every metric.
 */
import { readFileSync } from 'node:fs'
import type { CounterConfiguration, GaugeConfiguration, MetricObjectWithValues, MetricValue } from 'prom-client'
import { causeKinds } from '../cause-kinds.ts'
import type { CauseKind } from '../cause-kinds.ts'
import { failures } from '../errors.ts'
import type { FailureCode } from '../errors.ts'
import { replyFinishReasons } from '../finish-reason.ts'
import type { ReplyFinishReason } from '../finish-reason.ts'
import type { Amount } from '../ledger/ledger.ts'
import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Registry } from './prom-client.ts'
import { turnSeries } from './turn-series.ts'
import { watchBacklog, webhookAttempts } from './webhook-series.ts'
import type { WebhookBacklog, WebhookOutcome } from './webhook-series.ts'
import type { DocumentBacklog } from '../store/queries/knowledge/indexing-queue.ts'
import type { TurnFailureCode } from '../store/turn-records.ts'

/** How a turn ended in this process. `lost`: it was left to the process that claims it. */
export type TurnEnding =
  /** `finishReason`: null if the turn was cancelled after some text. */
  | { outcome: 'completed'; promptTokens: number; completionTokens: number; charged: Amount; finishReason: ReplyFinishReason | null }
  /** `unpaid`: what the run used, if its process lived. `charged`: the tool calls of a cancelled turn. */
  | { outcome: 'failed' | 'released' | 'cancelled'; code: TurnFailureCode; causeKind: CauseKind | null; unpaid: Amount; charged: Amount }
  | { outcome: 'lost' }

/** Milliseconds since the turn was admitted or claimed here. `firstDeltaMs` is null if there was no delta. */
export type TurnTimes = { ageMs: number; firstDeltaMs: number | null }

export type ModelCallOutcome = 'answered' | 'unavailable' | 'refused' | 'too_long' | 'stopped' | 'fault'

/** The counters for the other modules. Every call is a few additions and never throws. */
export interface Metrics {
  /** Call once for every turn that started here, and without times for a turn that had no attempts left. */
  turnEnded(ending: TurnEnding, times?: TurnTimes): void
  turnRecovered(): void
  replayed(): void
  /** A request that ended with an error of its own, not with that of a turn. */
  refused(code: FailureCode): void
  modelCalled(outcome: ModelCallOutcome): void
  modelRetried(): void
  webhookAttempted(webhookId: string, outcome: WebhookOutcome): void
  /** The enabled webhooks, when they may have changed. */
  webhooksKnown(webhookIds: string[]): void
}

/** Values that are read when /metrics is requested. */
export type Watched = {
  running(): number
  maxRunning: number
  /** The number of items that wait for the next batch, by kind of write. */
  waiting(): Record<'admission' | 'advance' | 'settlement' | 'failure', number>
  ready(): Promise<Record<'store' | 'limiter', 'ok' | 'unavailable'>>
  webhookBacklog(): Promise<WebhookBacklog>
  /** Undefined if it could not be read. */
  documentBacklog(): Promise<DocumentBacklog | undefined>
}

export type MetricsPage = {
  contentType: string
  /** The Prometheus text format, version 0.0.4. */
  scrape(): Promise<string>
}

/** The counts of this process since it started, for the status page. */
export type Totals = Record<
  'completed' | 'errors' | 'failed' | 'released' | 'cancelled' | 'lost' | 'replayed' | 'recovered' | 'refused' | 'modelRetries',
  number
>

/** The counts of one process, as sent to another. */
export type Figures = MetricObjectWithValues<MetricValue<string>>[]

const modelOutcomes: ModelCallOutcome[] = ['answered', 'unavailable', 'refused', 'too_long', 'stopped', 'fault']
const usdUnits = 1e8

/** For gauges where a sum has no meaning, the worst process counts. prom-client itself would use the sum or the average. */
const worst = {
  max: [
    'nodejs_eventloop_lag_seconds',
    'nodejs_eventloop_lag_p50_seconds',
    'nodejs_eventloop_lag_p90_seconds',
    'nodejs_eventloop_lag_p99_seconds',
  ],
  min: ['process_start_time_seconds'],
} as const

const restarts = {
  name: 'turnkeep_worker_restarts_total',
  help: 'Worker processes that exited unexpectedly and were restarted.',
} as const

export function createMetrics(): Metrics &
  MetricsPage & { watch(watched: Watched): void; figures(): Promise<Figures>; totals(): Promise<Totals> } {
  const registry = new Registry()
  collectDefaultMetrics(registry)
  for (const aggregator of ['max', 'min'] as const)
    for (const name of worst[aggregator]) Object.assign(registry.getSingleMetric(name)!, { aggregator })
  const registers = [registry]
  const counter = <Label extends string>(what: CounterConfiguration<Label>) => new Counter({ ...what, registers })
  const gauge = <Label extends string>(what: GaugeConfiguration<Label>) => new Gauge({ ...what, registers })

  const { turns, errors, replies, durations, firstDeltas, tokens } = turnSeries(registers)
  // Summed exactly. Only the shown value is rounded, so the next scrape has no accumulated error.
  let charged = 0n
  counter({
    name: 'turnkeep_charged_usd_total',
    help: 'US dollars charged for turns that completed in this process.',
    collect() {
      this.reset()
      this.inc(Number(charged) / usdUnits)
    },
  })
  let unpaid = 0n
  counter({
    name: 'turnkeep_unpaid_usd_total',
    help: 'US dollars of model usage, at the price of the agent, of turns that ended without a reply in this process. No owner was charged for them.',
    collect() {
      this.reset()
      this.inc(Number(unpaid) / usdUnits)
    },
  })
  const replays = counter({ name: 'turnkeep_replays_total', help: 'Requests answered with the stored result of an earlier turn.' })
  const refusals = counter({
    name: 'turnkeep_refusals_total',
    help: 'Requests rejected with an error, not counting failed turns, by error code.',
    labelNames: ['code'],
  })
  const recoveries = counter({ name: 'turnkeep_recoveries_total', help: 'Turns recovered from a process that ended.' })
  const modelCalls = counter({
    name: 'turnkeep_model_calls_total',
    help: 'Model calls made for turns, including retries, by outcome.',
    labelNames: ['outcome'],
  })
  const retries = counter({ name: 'turnkeep_model_retries_total', help: 'Model calls that were retried.' })
  const attempts = webhookAttempts(registers)
  const build = gauge({
    name: 'turnkeep_build_info',
    help: 'Always 1. The labels contain the version.',
    labelNames: ['version', 'node'],
    aggregator: 'first',
  })
  build.set({ version: ownVersion(), node: process.versions.node }, 1)
  gauge({ name: 'turnkeep_workers', help: 'Worker processes included in these metrics.' }).set(1)
  counter(restarts)

  // A series that exists from the start with 0 shows its first step as an increase.
  const completed = turns.labels('completed', 'none')
  const lost = turns.labels('lost', 'none')
  const ended = [completed, lost, turns.labels('cancelled', 'turn_cancelled'), turns.labels('failed', 'internal_error')]
  const releases = ['service_unavailable', 'internal_error', 'insufficient_balance', 'spend_limit_exceeded'] as const
  const released = releases.map((code) => turns.labels('released', code))
  const promptTokens = tokens.labels('prompt')
  const completionTokens = tokens.labels('completion')
  const refused = Object.keys(failures).map((code) => refusals.labels(code))
  const called = modelOutcomes.map((outcome) => modelCalls.labels(outcome))
  const byCause = causeKinds.map((cause) => errors.labels(cause))
  const byFinish = [...replyFinishReasons, 'cancelled'].map((reason) => replies.labels(reason))
  for (const series of [...ended, ...byFinish, ...byCause, ...released, promptTokens, completionTokens, ...refused, ...called])
    series.inc(0)

  return {
    turnEnded(ending, times) {
      if (times && times.firstDeltaMs !== null) firstDeltas.observe(times.firstDeltaMs / 1000)
      switch (ending.outcome) {
        case 'completed':
          completed.inc()
          replies.labels(ending.finishReason ?? 'cancelled').inc()
          if (times) durations.observe(times.ageMs / 1000)
          promptTokens.inc(ending.promptTokens)
          completionTokens.inc(ending.completionTokens)
          charged += ending.charged
          return
        case 'failed':
        case 'released':
        case 'cancelled':
          unpaid += ending.unpaid
          charged += ending.charged
          if (ending.causeKind) errors.labels(ending.causeKind).inc()
          return turns.labels(ending.outcome, ending.code).inc()
        case 'lost':
          return lost.inc()
      }
    },
    turnRecovered: () => recoveries.inc(),
    replayed: () => replays.inc(),
    refused: (code) => refusals.labels(code).inc(),
    modelCalled: (outcome) => modelCalls.labels(outcome).inc(),
    modelRetried: () => retries.inc(),
    webhookAttempted: attempts.ended,
    webhooksKnown: attempts.known,
    watch,
    contentType: registry.contentType,
    scrape: () => registry.metrics(),
    figures: () => registry.getMetricsAsJSON(),
    totals: async () => ({
      completed: await sumOf(turns, 'completed'),
      errors: await sumOf(errors),
      failed: await sumOf(turns, 'failed'),
      released: await sumOf(turns, 'released'),
      cancelled: await sumOf(turns, 'cancelled'),
      lost: await sumOf(turns, 'lost'),
      replayed: await sumOf(replays),
      recovered: await sumOf(recoveries),
      refused: await sumOf(refusals),
      modelRetries: await sumOf(retries),
    }),
  }

  function watch({ running, maxRunning, waiting, ready, webhookBacklog, documentBacklog }: Watched): void {
    watchBacklog(registers, webhookBacklog)
    gauge({
      name: 'turnkeep_turns_running',
      help: 'Turns currently running in this process.',
      collect() {
        this.set(running())
      },
    })
    gauge({ name: 'turnkeep_turns_running_limit', help: 'Maximum number of running turns (TURNKEEP_MAX_TURNS).' }).set(maxRunning)
    gauge({
      name: 'turnkeep_queue_length',
      help: 'Items waiting for the next batch to the store, by kind of write.',
      labelNames: ['kind'],
      collect() {
        for (const [kind, length] of Object.entries(waiting())) this.set({ kind }, length)
      },
    })
    gauge({
      name: 'turnkeep_documents_waiting',
      help: 'Documents that wait to be indexed, of all processes.',
      aggregator: 'max',
      async collect() {
        const backlog = await documentBacklog()
        if (backlog) this.set(backlog.queued)
        else this.reset()
      },
    })
    gauge({
      name: 'turnkeep_dependency_up',
      help: '1 if the store or the rate limiter is available, 0 if not.',
      labelNames: ['dependency'],
      aggregator: 'min',
      async collect() {
        const { store, limiter } = await ready()
        this.set({ dependency: 'store' }, store === 'ok' ? 1 : 0)
        this.set({ dependency: 'limiter' }, limiter === 'ok' ? 1 : 0)
      },
    })
  }
}

type Counted = { get(): Promise<{ values: { value: number; labels: Partial<Record<string, string | number>> }[] }> }

/** The sum of all series, or of those of one outcome. */
async function sumOf(counter: Counted, outcome?: string): Promise<number> {
  const { values } = await counter.get()
  const wanted = values.filter(({ labels }) => outcome === undefined || labels['outcome'] === outcome)
  return wanted.reduce((sum, { value }) => sum + value, 0)
}

/** The page of all processes together. */
export function addUp(all: Figures[]): Promise<string> {
  return AggregatorRegistry.aggregate(all).metrics()
}

/** One set of counts for all processes, which can be added up again. */
export function merge(all: Figures[]): Promise<Figures> {
  return AggregatorRegistry.aggregate(all).getMetricsAsJSON()
}

/** What remains valid of a process that has ended: its counters, not its gauges. */
export function counted(figures: Figures): Figures {
  return figures.filter(({ type }) => String(type) !== 'gauge')
}

/** The supervisor's own metric, added to those of its workers. */
export function createRestartCount(): { add(): void; figures(): Promise<Figures> } {
  const registry = new Registry()
  const count = new Counter({ ...restarts, registers: [registry] })
  return { add: () => count.inc(), figures: () => registry.getMetricsAsJSON() }
}

/** The version of this program. */
export function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
  return version
}
