/** Which providers fail, from their newest turns, and in which words. Pure. */
import type { Agent, Turn } from '../../api/types.ts'
import { providerOf } from './kinds.ts'

export const causeOf = ({ failure }: Turn): string => failure?.cause_kind ?? failure?.code ?? 'failed'
export const endOf = (turn: Turn): string => turn.ended_at ?? turn.started_at

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

/** The turns of the current versions of these agents: an earlier version may have had a model of another provider. */
export function turnsOfCurrent(turns: Turn[], agents: Agent[]): Turn[] {
  const versions = new Map(agents.map(({ id, version }) => [id, version]))
  return turns.filter(({ agent_id: agentId, agent_version: version }) => versions.get(agentId) === version)
}

/**
 * Providers whose newest turn, or a quarter of the newest twenty, ended without a reply because of the provider. `turns`: the newest ended
 * turns of any state. Only those of the current versions count.
 */
export function failingProviders(turns: Turn[], agents: Agent[]): FailingProvider[] {
  const providerById = new Map(agents.map(({ id, model }) => [id, providerOf(model)]))
  const ended = turnsOfCurrent(turns, agents)
    .filter(({ state }) => state !== 'running' && state !== 'cancelled')
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
