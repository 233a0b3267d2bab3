/**
 * A conversation with one agent as the admin API tells of it: what was said, what a turn cost, what the owner has left. Keeps this session's sum.
 * Shows nothing.
 */
import { isFields } from '../admin-api/client.ts'
import type { AdminClient, Fields, Query } from '../admin-api/client.ts'
import { keysPath } from '../admin-api/paths.ts'

export type Said = { role: string; content: string; at: string }
export type Cost = {
  requestId: string
  chargedUsd: string
  promptTokens: number
  completionTokens: number
  seconds: number | undefined
  firstTextSeconds: number | undefined
  /** Names of the tools that were called, in their order. */
  tools: string[]
}
export type Sum = { turns: number; usd: string; tokens: number; running: number }

export class Talk {
  readonly client: AdminClient
  readonly agent: Fields
  readonly agentId: string
  externalUserId: string
  /** Ends the look-up that is under way: it then throws as where nobody answers. */
  signal: AbortSignal | undefined
  readonly #costs: Cost[] = []
  /** Turns whose cost is not known yet. */
  #unheard = new Set<string>()

  constructor(client: AdminClient, agent: Fields, externalUserId: string) {
    this.client = client
    this.agent = agent
    this.agentId = String(agent['id'])
    this.externalUserId = externalUserId
  }

  owner(): Promise<Fields> {
    return this.#look(`/owners/${encodeURIComponent(String(this.agent['owner_id']))}`)
  }

  /** The last messages, oldest first; empty where nothing was said yet. */
  async lastSaid(limit: number): Promise<Said[]> {
    const id = await this.#findConversation()
    if (id === undefined) return []
    const { data } = await this.#look(`/conversations/${id}/messages`, { limit: String(limit) })
    if (!Array.isArray(data)) return []
    const said = data
      .filter(isFields)
      .map((one) => ({ role: String(one['role']), content: String(one['content']), at: String(one['created_at']) }))
    return said.toReversed()
  }

  /** Of a turn that has ended; undefined while it runs, or where it was not charged. Counted in this session's sum, once. */
  async cost(requestId: string): Promise<Cost | undefined> {
    const counted = this.#costs.find((one) => one.requestId === requestId)
    if (counted) return counted
    this.leave(requestId)
    const turn = await this.#look(`/turns/${encodeURIComponent(requestId)}`)
    if (turn['state'] === 'running') return undefined
    this.#unheard.delete(requestId)
    const { usage } = turn
    if (!isFields(usage)) return undefined
    const cost: Cost = {
      requestId,
      chargedUsd: String(usage['charged_usd']),
      promptTokens: Number(usage['prompt_tokens']),
      completionTokens: Number(usage['completion_tokens']),
      seconds: (Date.parse(String(turn['ended_at'])) - Date.parse(String(turn['started_at']))) / 1000,
      firstTextSeconds: typeof turn['first_delta_ms'] === 'number' ? turn['first_delta_ms'] / 1000 : undefined,
      tools: toolsOf(turn['steps']),
    }
    this.#costs.push(cost)
    return cost
  }

  /** A turn whose cost nobody has seen yet: it counts when it has ended. */
  leave(requestId: string): void {
    this.#unheard.add(requestId)
  }

  async sum(): Promise<Sum> {
    for (const requestId of this.#unheard) await this.cost(requestId)
    const units = this.#costs.reduce((sum, { chargedUsd }) => sum + unitsOf(chargedUsd), 0n)
    const tokens = this.#costs.reduce((sum, { promptTokens, completionTokens }) => sum + promptTokens + completionTokens, 0)
    return { turns: this.#costs.length, usd: writeUnits(units), tokens, running: this.#unheard.size }
  }

  #look(path: string, query: Query = {}): Promise<Fields> {
    return this.client.call('GET', path, { query, signal: this.signal })
  }

  /** The playground's key is listed nowhere: the conversation of a key that is none of the agent's own. */
  async #findConversation(): Promise<string | undefined> {
    const keys = new Set<unknown>()
    for await (const { data } of this.client.pages(keysPath(this.agentId), Infinity, {}, this.signal))
      for (const { id } of data) keys.add(id)
    const query = { agent_id: this.agentId, external_user_id: this.externalUserId }
    for await (const { data } of this.client.pages('/conversations', 100, query, this.signal)) {
      const found = data.find(({ key_id: key }) => !keys.has(key))
      if (found) return encodeURIComponent(String(found['id']))
    }
    return undefined
  }
}

function toolsOf(steps: unknown): string[] {
  if (!Array.isArray(steps)) return []
  return steps
    .filter(isFields)
    .flatMap(({ kind, payload }) => (kind === 'tool_finished' && isFields(payload) ? [String(payload['name'])] : []))
}

/** Amounts are decimal strings of 8 places; their sum is exact. */
const unitsOf = (usd: string): bigint => BigInt(usd.replace('.', ''))
const writeUnits = (units: bigint): string => `${units / 100_000_000n}.${String(units % 100_000_000n).padStart(8, '0')}`
