/**
 * The operator of a run: creates the tenants, and then changes settings during the load. Each change is recorded in the history after a
 * successful response. A failed request is sent again, to any running process.
 */
import { setTimeout as pass } from 'node:timers/promises'
import type { AdminChange, History, Tenant } from '../history.ts'
import { hiddenWords } from '../messages.ts'
import type { Random } from '../random.ts'
import type { Upstream } from '../upstream.ts'
import type { Key, Target } from './about-turn.ts'

type Json = Record<string, any>

export type Admin = {
  /** Until it succeeds, or until a 4xx is final; undefined if the run ends before. */
  call(method: string, path: string, body?: Json, headers?: Record<string, string>): Promise<Json | undefined>
  /** All pages, newest first. */
  all(path: string): Promise<Json[]>
}

// An admin request only waits for the store.
const patienceMs = 10_000
const pauseMs = 200

export function createAdmin({ target, over }: { target: Target; over?: AbortSignal }): Admin {
  async function call(method: string, path: string, body?: Json, headers: Record<string, string> = {}): Promise<Json | undefined> {
    for (;;) {
      if (over?.aborted) return undefined
      const response = await fetch(`${target.adminUrl()}/admin/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${target.adminToken}`,
          ...(body ? { 'content-type': 'application/json' } : {}),
          ...headers,
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        signal: AbortSignal.timeout(patienceMs),
      }).catch(() => undefined)
      const text = await response?.text().catch(() => undefined)
      if (response && text !== undefined && response.status < 300) return text === '' ? {} : (JSON.parse(text) as Json)
      // 409: the data to erase has a running turn.
      if (response && response.status < 500 && response.status !== 409) {
        // A repeated change whose first response was lost.
        if (method === 'DELETE' && response.status === 404) return {}
        throw new Error(`${method} ${path}: ${response.status} ${text}`)
      }
      await pass(pauseMs)
    }
  }

  async function all(path: string): Promise<Json[]> {
    const found: Json[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await call(
        'GET',
        `${path}${path.includes('?') ? '&' : '?'}limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      )
      found.push(...(page?.['data'] ?? []))
      cursor = page?.['next_cursor'] ?? null
    }
    return found
  }

  return { call, all }
}

/** What is spent under the agent's own limit. Undefined if the run ended before the response. */
export async function readSpending(admin: Admin, agent: string): Promise<Extract<AdminChange, { what: 'spending' }> | undefined> {
  const windows = ((await admin.call('GET', `/agents/${agent}/spending`))?.['data'] ?? []) as Json[]
  const own = windows.find(({ scope }) => scope === 'agent')
  if (!own) return undefined
  const { limit_usd: limitUsd, spent_usd: spentUsd, held_usd: heldUsd, unpaid_usd: unpaidUsd } = own
  return { what: 'spending', agent, limitUsd, spentUsd, heldUsd, unpaidUsd }
}

export type Testbed = {
  webhookId: string
  tenants: (Tenant & { keys: Key[] })[]
  key(name: string): Key
  tenantOf(key: Key): Tenant & { keys: Key[] }
}

/**
 * The owners; amounts in USD. `thin` can pay for a few holds and is topped up, `poor` never can. `capped` has limits of all time that are
 * reached: of the agent, which is raised, and of each end user. `unfair` sends what unfair.ts does.
 */
const cast = [
  { name: 'plain', canary: 'quartz7', balanceUsd: '100000', rich: true, agents: ['plain', 'switched'], tools: false, outputTokens: 2048 },
  { name: 'tools', canary: 'umbra31', balanceUsd: '100000', rich: true, agents: ['tools'], tools: true, outputTokens: 2048 },
  { name: 'thin', canary: 'fjord55', balanceUsd: '0.005', rich: false, agents: ['thin'], tools: false, outputTokens: 400 },
  { name: 'poor', canary: 'zebra90', balanceUsd: '0.02', rich: false, agents: ['poor'], tools: false, outputTokens: 400 },
  { name: 'capped', canary: 'linden4', balanceUsd: '100000', rich: true, agents: ['capped'], tools: false, outputTokens: 400 },
  { name: 'unfair', canary: 'gravel6', balanceUsd: '100000', rich: true, agents: ['unfair'], tools: false, outputTokens: 400 },
]
type KeyMade = { name: string; permission?: 'read-only'; limit?: number; windowSeconds?: number; mcp?: true }
const keysOf: Record<string, KeyMade[]> = {
  // Enough requests for one caller, too few for bursts.
  plain: [
    { name: 'plain' },
    { name: 'plain-2' },
    { name: 'plain-read', permission: 'read-only' },
    { name: 'plain-limited', limit: 25, windowSeconds: 5 },
    { name: 'plain-revoked' },
  ],
  switched: [{ name: 'switched' }],
  tools: [{ name: 'tools' }, { name: 'tools-2' }],
  thin: [{ name: 'thin' }],
  poor: [{ name: 'poor' }],
  capped: [{ name: 'capped' }],
  // What the first one sends reaches its limit. The turns of the second one, and those who follow them, are limited by the server only.
  unfair: [{ name: 'unfair', limit: 30, windowSeconds: 5, mcp: true }, { name: 'unfair-turns' }],
}
// A whole conversation of a run fits, so that the checker knows everything that a model must receive.
const historyTokens = 100_000
const price = { prompt_usd_per_million: '0.50', completion_usd_per_million: '1.50', cached_prompt_usd_per_million: '0.05' }
/** USD per call. Small, so that the owners with little money can pay it. */
const toolUsd = { look: '0.00000100', book: '0.00000700' }

const generousLimits = [
  { scope: 'end_user', usd: '50000', window: 'day' },
  { scope: 'api_key', usd: '90000', window: 'month' },
  { scope: 'agent', usd: '100000', window: 'total' },
]

/** A few holds, and then less than the callers would spend. */
const capped = { agentUsd: '0.0022', endUserUsd: '0.0018', raisesByUsd: 0.0005 }
const limitsOf = (agentUsd: string): Json[] => [
  { scope: 'agent', usd: agentUsd, window: 'total' },
  { scope: 'end_user', usd: capped.endUserUsd, window: 'total' },
]

const promptOf = (canary: string, version: number): string =>
  `You are version ${version} of an agent. Never say ${hiddenWords(canary).prompt}.`

/** Creates everything through the admin API. An object whose response was lost is never used. */
export async function makeWorld({ admin, upstream, history }: { admin: Admin; upstream: Upstream; history: History }): Promise<Testbed> {
  const make = async (path: string, body: Json): Promise<Json> => (await admin.call('POST', path, body))!
  const provider = await make('/providers', {
    name: `upstream${Math.round(history.now())}`,
    kind: 'openai-compatible',
    base_url: upstream.modelUrl,
    api_key: 'model-key',
  })
  const webhook = await make('/webhooks', { url: upstream.webhookUrl, events: ['*'] })
  const tenants = await Promise.all(
    cast.map(async ({ name, canary, balanceUsd, rich, agents, tools, outputTokens }) => {
      const owner = await make('/owners', { name, balance_usd: balanceUsd })
      const made = await Promise.all(
        agents.map(async (agentName) => {
          const agent = await make('/agents', {
            owner_id: owner['id'],
            name: agentName,
            system_prompt: promptOf(canary, 1),
            model: `${provider['name']}/model`,
            price,
            max_output_tokens: outputTokens,
            history: { max_tokens: historyTokens },
            // Generous ones are never reached: that each window adds up under faults is for `verify` (I21).
            spend_limits: name === 'capped' ? limitsOf(capped.agentUsd) : rich ? generousLimits : [],
            ...(tools ? { tools: toolsOf(upstream), knowledge: { embedding_model: `${provider['name']}/embedder` } } : {}),
          })
          await make(`/agents/${agent['id']}/documents`, documentOf(canary, 'Harbour', 0))
          const keys = await Promise.all(
            keysOf[agentName]!.map(async ({ name: keyName, permission = 'full', limit = 1_000_000, windowSeconds = 60, mcp = false }) => {
              const rate = { limit, window_seconds: windowSeconds }
              const key = await make(`/agents/${agent['id']}/keys`, { name: keyName, permission, mcp, rate_limit: rate })
              return { name: keyName, id: key['id'], agentId: agent['id'], permission, limit, windowSeconds, text: key['api_key'] } as Key
            }),
          )
          return { agent: { id: String(agent['id']), name: agentName }, keys }
        }),
      )
      return {
        name,
        canary,
        hidden: hiddenWords(canary),
        owner: { id: String(owner['id']), balanceUsd, rich },
        agents: made.map(({ agent }) => ({
          ...agent,
          promptUsdPerMillion: price.prompt_usd_per_million,
          completionUsdPerMillion: price.completion_usd_per_million,
          cachedPromptUsdPerMillion: price.cached_prompt_usd_per_million,
          toolUsd,
          historyTokens,
          ...(name === 'capped' ? { capped: { ...capped, maxOutputTokens: outputTokens } } : {}),
        })),
        keys: made.flatMap(({ keys }) => keys),
      }
    }),
  )
  const reported = tenants.map((tenant) => ({ ...tenant, keys: tenant.keys.map(({ text: _secret, ...key }) => key) }))
  history.write({ kind: 'setup', at: history.now(), tenants: reported })
  return {
    webhookId: String(webhook['id']),
    tenants,
    key: (name) => tenants.flatMap(({ keys }) => keys).find((key) => key.name === name)!,
    tenantOf: (key) => tenants.find(({ keys }) => keys.includes(key))!,
  }
}

function toolsOf({ toolUrl }: Upstream): Json[] {
  const parameters = {
    type: 'object',
    properties: { about: { type: 'string' }, how: { type: 'string' }, secret: { type: 'string' } },
    required: ['about', 'how', 'secret'],
    additionalProperties: false,
  }
  const http = (name: keyof typeof toolUsd, sideEffects: boolean): Json => ({
    type: 'http',
    name,
    description: `Use it to ${name}.`,
    parameters,
    method: 'POST',
    url: `${toolUrl}/${name}`,
    side_effects: sideEffects,
    price_usd: toolUsd[name],
  })
  return [http('look', false), http('book', true), { type: 'builtin', name: 'now' }, { type: 'builtin', name: 'search_knowledge' }]
}

const documentOf = (canary: string, title: string, edition: number): Json => ({
  title,
  text: `# ${title}\n\nThe harbour opens at ${edition % 24} o'clock; shipping of crates and return of goods by ${hiddenWords(canary).document}.\n\n${`A line about shipping, edition ${edition}.\n\n`.repeat(20)}`,
})

type OperatorOptions = { admin: Admin; testbed: Testbed; random: Random; history: History; stopped: AbortSignal }

// The callers of the `thin` owner spend about a thousandth of a cent per turn and hold a twentieth of a cent.
const topUpUsd = '0.0015'

/** One change after the other until `stopped`. Leaves every agent enabled. */
export async function operate({ admin, testbed, random, history, stopped }: OperatorOptions): Promise<void> {
  const [plain, tools, thin, poor, limited] = testbed.tenants as [
    Testbed['tenants'][0],
    Testbed['tenants'][0],
    Testbed['tenants'][0],
    Testbed['tenants'][0],
    Testbed['tenants'][0],
  ]
  const switched = plain.agents.find(({ name }) => name === 'switched')!
  const versions = new Map<string, number>()
  let acts = 0
  let limitUsd = capped.agentUsd

  async function tell(change: AdminChange, make: () => Promise<unknown>): Promise<void> {
    const startedAt = history.now()
    // Undefined if the run ended before the response.
    if ((await make()) !== undefined) history.write({ kind: 'admin', at: history.now(), startedAt, ...change })
  }

  async function topUp(): Promise<void> {
    const idempotencyKey = `top-up ${acts}`
    const body = { amount_usd: topUpUsd }
    await tell({ what: 'top-up', owner: thin.owner.id, amountUsd: topUpUsd, idempotencyKey }, () =>
      admin.call('POST', `/owners/${thin.owner.id}/ledger`, body, { 'idempotency-key': idempotencyKey }),
    )
  }

  async function edit(): Promise<void> {
    const { canary, agents } = random.pick([plain, tools])
    const agent = agents[0]!
    const version = (versions.get(agent.id) ?? 1) + 1
    versions.set(agent.id, version)
    await tell({ what: 'edit', agent: agent.id, version }, () =>
      admin.call('PATCH', `/agents/${agent.id}`, { system_prompt: promptOf(canary, version) }),
    )
  }

  const turn = (enabled: boolean): Promise<void> =>
    tell({ what: 'switch', agent: switched.id, enabled }, () => admin.call('PATCH', `/agents/${switched.id}`, { enabled }))

  async function offAndOn(): Promise<void> {
    await turn(false)
    await pass(random.int(300, 2000))
    await turn(true)
  }

  async function document(): Promise<void> {
    const { canary, agents } = random.pick([plain, tools])
    const title = random.pick(['Harbour', 'Shipping', 'Returns'])
    await tell({ what: 'document', agent: agents[0]!.id, title }, async () => {
      const found = (await admin.all(`/agents/${agents[0]!.id}/documents`)).find((one) => one['title'] === title)
      const [method, at] = found ? ['PUT', `/${found['id']}`] : ['POST', '']
      return admin.call(method!, `/agents/${agents[0]!.id}/documents${at}`, documentOf(canary, title, acts))
    })
  }

  async function look(): Promise<void> {
    const { owner } = random.pick([thin, poor])
    const startedAt = history.now()
    const read = await admin.call('GET', `/owners/${owner.id}`)
    if (!read) return
    const { balance_usd: balanceUsd, held_usd: heldUsd, unpaid_usd: unpaidUsd, available_usd: availableUsd } = read
    const figures = { balanceUsd, heldUsd, unpaidUsd, availableUsd }
    history.write({ kind: 'admin', at: history.now(), startedAt, what: 'balance', owner: owner.id, ...figures })
  }

  async function raise(): Promise<void> {
    const agent = limited.agents[0]!.id
    limitUsd = (Number(limitUsd) + capped.raisesByUsd).toFixed(4)
    const usd = limitUsd
    await tell({ what: 'limit', agent, usd }, () => admin.call('PATCH', `/agents/${agent}`, { spend_limits: limitsOf(usd) }))
  }

  async function lookAtLimit(): Promise<void> {
    const startedAt = history.now()
    const spending = await readSpending(admin, limited.agents[0]!.id)
    if (spending) history.write({ kind: 'admin', at: history.now(), startedAt, ...spending })
  }

  const key = testbed.key('plain-revoked')
  // Late enough for data to exist, early enough for a run of a minute and a half.
  const revokesAfter = random.int(8, 14)
  while (!stopped.aborted) {
    acts++
    if (acts === revokesAfter) await tell({ what: 'revoke', key: key.name }, () => admin.call('DELETE', `/keys/${key.id}`))
    else await random.pick([topUp, topUp, raise, look, look, lookAtLimit, edit, offAndOn, document])()
    await pass(random.int(300, 1500), undefined, { signal: stopped }).catch(() => undefined)
  }
  await turn(true)
}
