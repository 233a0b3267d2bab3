/** The turns without a reply of a range, by cause: how many, since when, the last one, and what the provider said. Pure. */
import type { Agent, Turn, Usage } from '../../api/types.ts'
import { causeOf, endOf, turnsOfCurrent, wordsOf } from '../providers/health.ts'
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
  /** The names of the agents of the known turns, and the providers of those that had such a turn in their current version. */
  providers: string[]
  agents: string[]
}

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
    const agentsOf = (found: Turn[]): Agent[] => agents.filter(({ id }) => found.some(({ agent_id: agentId }) => agentId === id))
    return {
      cause,
      count,
      since: isFirst ? endOf(oldest) : (starts[0] ?? start),
      last: newest ? endOf(newest) : (starts.at(-1) ?? start),
      words: newest?.failure?.cause ? wordsOf(newest.failure.cause) : null,
      requestId: newest?.request_id ?? null,
      providers: [...new Set(agentsOf(turnsOfCurrent(newestFirst, agents)).map(({ model }) => providerOf(model)))],
      agents: agentsOf(newestFirst).map(({ name }) => name),
    }
  }
}
