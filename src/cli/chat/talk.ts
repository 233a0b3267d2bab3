/**
 * A chat session with one agent: reads earlier messages, the cost of turns and the balance of the owner from the admin API, and sums up the
 * cost of this session. Prints nothing.
 */
import { isFields } from '../admin-api/client.ts'
import type { AdminClient, Fields, Query } from '../admin-api/client.ts'
import { whyCutOff } from '../resources/follow-turn.ts'
import { keysPath } from '../admin-api/paths.ts'

export type Said = { role: string; content: string; at: string }
export type Cost = {
  requestId: string
  chargedUsd: string
  promptTokens: number
  completionTokens: number
  seconds: number | undefined
  firstTextSeconds: number | undefined
  /** Names of the called tools, in order. */
  tools: string[]
  /** Why the text ends before its end; undefined for a whole reply. */
  cutOff: string | undefined
}
export type Sum = { turns: number; usd: string; tokens: number; running: number }

export class Talk {
  readonly client: AdminClient
  readonly agent: Fields
  readonly agentId: string
  externalUserId: string
  /** Cancels the current request to the admin API, which then throws CommandFailed. */
  signal: AbortSignal | undefined
  readonly #costs: Cost[] = []
  /** Request IDs of turns whose cost is not known yet. */
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

  /** Returns the last `limit` messages, oldest first. */
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

  /** Returns the cost of a turn and adds it to the sum once, or undefined if the turn is running or was not charged. */
  async cost(requestId: string): Promise<Cost | undefined> {
    const counted = this.#costs.find((one) => one.requestId === requestId)
    if (counted) return counted
    this.leave(requestId)
    const turn = await this.#look(`/turns/${encodeURIComponent(requestId)}`)
    if (turn['status'] === 'running') return undefined
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
      cutOff: turn['incomplete'] === true ? whyCutOff(turn['finish_reason']) : undefined,
    }
    this.#costs.push(cost)
    return cost
  }

  /** Remembers a turn whose cost is not known yet, so that `sum` includes it when it has ended. */
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

  /** The playground's API key is not listed, so this looks for a conversation whose key is not among the listed keys of the agent. */
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

/** Amounts are decimal strings with 8 places; bigint makes the sum exact. */
const unitsOf = (usd: string): bigint => BigInt(usd.replace('.', ''))
const writeUnits = (units: bigint): string => `${units / 100_000_000n}.${String(units % 100_000_000n).padStart(8, '0')}`
