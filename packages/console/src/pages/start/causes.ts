/** The turns without a reply of a range, by cause: how many, since when, the last one, and what the provider said. Pure. */
import type { Agent, Turn, Usage } from '../../api/types.ts'
import { providerOf } from '../providers/kinds.ts'

export type CauseGroup = {
  cause: string
  count: number
  /** ISO times. `since` is exact if the first such turn is known, otherwise the start of its hour or day. */
  since: string
  last: string
  /** Of the newest turn: what the provider or the server said. Null if only counts are known, as of a turn that a retry has answered. */
  words: string | null
  requestId: string | null
  /** The providers and the names of the agents of the known turns. */
  providers: string[]
  agents: string[]
}

const causeOf = ({ failure }: Turn): string => failure?.cause_kind ?? failure?.code ?? 'failed'
const endOf = (turn: Turn): string => turn.ended_at ?? turn.started_at

/** The cause that failed last comes first. `turns`: failed and released ones, at least the newest. */
export function groupCauses(usage: Usage, turns: Turn[], agents: Agent[]): CauseGroup[] {
  const start = usage.data[0]?.bucket_start ?? ''
  const ofRange = turns.filter((turn) => endOf(turn) >= start).toSorted((one, other) => endOf(other).localeCompare(endOf(one)))
  const known = Map.groupBy(ofRange, causeOf)
  const groups = Object.entries(usage.totals.errors_by_cause).map(([cause, count]) => groupOf(cause, count, known.get(cause) ?? []))
  return groups.toSorted((one, other) => other.last.localeCompare(one.last))

  function groupOf(cause: string, count: number, newestFirst: Turn[]): CauseGroup {
    const starts = usage.data.filter(({ errors_by_cause: byCause }) => (byCause[cause] ?? 0) > 0).map(({ bucket_start: at }) => at)
    const [newest, oldest] = [newestFirst[0], newestFirst.at(-1)]
    // All of them are known, or the first one has ended in the first hour or day.
    const isFirst = oldest !== undefined && newestFirst.length >= count
    const involved = agents.filter(({ id }) => newestFirst.some(({ agent_id: agentId }) => agentId === id))
    return {
      cause,
      count,
      since: isFirst ? endOf(oldest) : (starts[0] ?? start),
      last: newest ? endOf(newest) : (starts.at(-1) ?? start),
      words: newest?.failure?.cause ? wordsOf(newest.failure.cause) : null,
      requestId: newest?.request_id ?? null,
      providers: [...new Set(involved.map(({ model }) => providerOf(model)))],
      agents: involved.map(({ name }) => name),
    }
  }
}

/** The message within the JSON of a provider's error, or the whole text. */
export function wordsOf(cause: string): string {
  const json = /\{.*\}/s.exec(cause)?.[0]
  if (json === undefined) return cause
  try {
    const parsed: unknown = JSON.parse(json)
    const error = parsed && typeof parsed === 'object' && 'error' in parsed ? parsed.error : parsed
    const message = error && typeof error === 'object' && 'message' in error ? error.message : error
    return typeof message === 'string' && message !== '' ? message : cause
  } catch {
    // Not JSON, or cut off: as it is.
    return cause
  }
}

/** How many of its newest turns tell whether a provider works. */
const judged = 20

export type FailingProvider = {
  provider: string
  failed: number
  of: number
  cause: string
  words: string | null
  since: string
  requestId: string
}

/**
 * Providers whose newest turn, or a quarter of the newest twenty, ended without a reply because of the provider. `turns`: the newest ended
 * turns of any state.
 */
export function failingProviders(turns: Turn[], agents: Agent[]): FailingProvider[] {
  const providerById = new Map(agents.map(({ id, model }) => [id, providerOf(model)]))
  const ended = turns
    .filter(({ state, agent_id: agentId }) => state !== 'running' && state !== 'cancelled' && providerById.has(agentId))
    .toSorted((one, other) => endOf(other).localeCompare(endOf(one)))
  const byProvider = Map.groupBy(ended, ({ agent_id: agentId }) => providerById.get(agentId)!)
  return [...byProvider].flatMap(([provider, all]): FailingProvider[] => {
    const newest = all.slice(0, judged)
    const failed = newest.filter(isOfProvider)
    const last = failed[0]
    if (!last || (newest[0] !== last && failed.length * 4 < newest.length)) return []
    const since = endOf(failed.at(-1)!)
    const words = last.failure?.cause ? wordsOf(last.failure.cause) : null
    return [{ provider, failed: failed.length, of: newest.length, cause: causeOf(last), words, since, requestId: last.request_id }]
  })
}

const isOfProvider = (turn: Turn): boolean => turn.failure !== null && /^(provider_|model_not_found$|invalid_answer$)/.test(causeOf(turn))
