/** Who is in the sample data: owners, agents with their later versions, documents, top-ups and keys. Chosen here, created by fill.ts. */
import type { Random } from './random.ts'
import { ownerNames } from './texts.ts'
import type { Role } from './texts.ts'

export type PlannedOwner = { kind: keyof typeof ownerNames; name: string; balanceUsd: string }

export type PlannedAgent = {
  role: Role
  owner: PlannedOwner['kind']
  name: string
  /** What the admin API takes, without the owner and the tools. */
  fields: Record<string, unknown>
  tools: ('find_order' | 'book_room' | 'parcels' | 'now')[]
}

/** Milliseconds after midnight UTC, that many days before today; or before the present, for the last hours. */
export type At = { daysAgo: number; ms: number } | { beforeNowMs: number }

export type Turn = {
  kind: 'turn'
  role: Role
  user: string
  message: string
  isStream: boolean
  /** The key of the agent that is used. */
  key: 'Website' | 'Mobile app'
  outcome: Outcome
  feedback: PlannedFeedback | null
}

/** `cancelled` and `incomplete`: the caller cancels before and after the first text. `refused`: over a spend limit, so no turn is stored. */
export type Outcome = 'completed' | 'incomplete' | 'failed' | 'released' | 'cancelled' | 'refused'

export type PlannedLimit = { scope: 'end_user' | 'api_key' | 'agent'; usd: string; window: 'day' | 'month' | 'total' }

/** Paths of scripted-server.ts: one answers 204, the other one 500. */
export type HookPath = '/hooks/orders' | '/hooks/crm'

export type PlannedFeedback = { rating: 'up' | 'down'; comment?: string; tags?: string[] }

export type Action =
  | Turn
  | { kind: 'playground'; role: Role; message: string }
  | { kind: 'document'; role: Role; file: string }
  | { kind: 'text'; role: Role; title: string; text: string }
  | { kind: 'change-agent'; role: Role; fields: Record<string, unknown> }
  | { kind: 'rollback'; role: Role; version: number }
  | { kind: 'top-up'; owner: PlannedOwner['kind']; amountUsd: string; note: string }
  | { kind: 'rotate-key'; role: Role }
  | { kind: 'revoke-key'; role: Role; name: string }
  /** Of the agent, or of one of its end users. */
  | { kind: 'limits'; role: Role; user?: string; limits: PlannedLimit[] }
  | { kind: 'webhook'; path: HookPath; owner: PlannedOwner['kind']; events: string[]; description: string }
  /** `joins`: the invitation is accepted. */
  | { kind: 'operator'; fields: { name: string; email: string; role: string; permissions?: string[] }; joins: boolean }
  | { kind: 'token'; name: string; role: string; owner?: PlannedOwner['kind'] }

export type PlannedEvent = { at: At; action: Action }

const hourMs = 3_600_000

export function ownersOf(random: Random): PlannedOwner[] {
  return [
    { kind: 'shop', name: random.pick(ownerNames.shop), balanceUsd: `${random.whole(20, 40)}` },
    { kind: 'library', name: random.pick(ownerNames.library), balanceUsd: `${random.whole(5, 9)}` },
    // Runs low: a balance below a dollar is worth seeing in the console.
    { kind: 'ferry', name: random.pick(ownerNames.ferry), balanceUsd: '0.5' },
  ]
}

const large = { prompt_usd_per_million: '2.5', completion_usd_per_million: '15' }
const small = { prompt_usd_per_million: '0.75', completion_usd_per_million: '4.5' }

export function agentsOf(seed: number, owners: PlannedOwner[]): PlannedAgent[] {
  const agents: (Omit<PlannedAgent, 'fields'> & { price: object; fields?: Record<string, unknown> })[] = [
    {
      role: 'orders',
      owner: 'shop',
      name: 'Order desk',
      price: large,
      tools: ['find_order', 'parcels', 'now'],
      fields: { temperature: 0.2 },
    },
    { role: 'returns', owner: 'shop', name: 'Returns', price: small, tools: ['find_order'] },
    { role: 'library', owner: 'library', name: 'Reading room', price: small, tools: [] },
    { role: 'rooms', owner: 'library', name: 'Room booking', price: large, tools: ['book_room'] },
    { role: 'timetable', owner: 'ferry', name: 'Timetable', price: small, tools: [], fields: { temperature: 0 } },
  ]
  return agents.map(({ price, fields, ...agent }) => ({
    ...agent,
    fields: {
      model: `seed-${seed}/gpt-5.4-mini`,
      system_prompt: `You help the visitors of ${owners.find(({ kind }) => kind === agent.owner)!.name}. Be brief.`,
      price,
      max_output_tokens: 512,
      history: { max_tokens: 1_000 },
      ...fields,
    },
  }))
}

const returnsText = `# Returns and repairs

Goods may be returned within 30 days, clean and with their label. The refund takes 3 to 5 working days.

## Repairs

Zips and seams are covered for two years. A repair takes two weeks.`

const timetableText = `# Summer timetable

| Quay | First | Last | On Sundays |
|---|---|---|---|
| North | 6:10 | 23:10 | 21:40 |
| South | 6:40 | 22:40 | 21:10 |

On holidays the last ferry leaves an hour earlier.`

/** The files are in test/data/documents; two of them cannot be read, which the console shows with the reason. */
export const documents: Action[] = [
  ...['handbook.pdf', 'handbook.docx', 'page.html', 'utf-16.txt', 'scanned.pdf', 'encrypted.pdf'].map((file) => ({
    kind: 'document' as const,
    role: 'library' as const,
    file,
  })),
  { kind: 'document', role: 'orders', file: 'handbook.md' },
  { kind: 'text', role: 'returns', title: 'Returns and repairs', text: returnsText },
  { kind: 'text', role: 'timetable', title: 'Summer timetable', text: timetableText },
]

const brief = 'You help the customers of the shop. Be brief. Never promise a delivery date that you have not looked up.'
const warm = 'You help the customers of the shop. Be brief and warm. Never promise a delivery date that you have not looked up.'

/** Later versions and keys. All before 5:00 UTC, when no turn runs. */
export function changesOf(random: Random): PlannedEvent[] {
  const on = (daysAgo: number, action: Action): PlannedEvent => ({
    at: { daysAgo, ms: 4 * hourMs + random.whole(0, hourMs - 60_000) },
    action,
  })
  return [
    on(24, { kind: 'change-agent', role: 'orders', fields: { system_prompt: brief } }),
    on(21, { kind: 'change-agent', role: 'library', fields: { temperature: 0.3 } }),
    on(20, { kind: 'revoke-key', role: 'orders', name: 'Old shop' }),
    on(15, { kind: 'change-agent', role: 'orders', fields: { system_prompt: warm, temperature: 0.7 } }),
    on(13, { kind: 'rollback', role: 'orders', version: 2 }),
    on(12, { kind: 'rotate-key', role: 'library' }),
    on(7, { kind: 'change-agent', role: 'orders', fields: { system_prompt: warm } }),
    on(6, { kind: 'change-agent', role: 'returns', fields: { max_output_tokens: 400 } }),
  ]
}

export function topUpsOf(random: Random): PlannedEvent[] {
  const on = (daysAgo: number, owner: PlannedOwner['kind'], amountUsd: string, note: string): PlannedEvent => ({
    at: { daysAgo, ms: 3 * hourMs + random.whole(0, hourMs - 60_000) },
    action: { kind: 'top-up', owner, amountUsd, note },
  })
  const invoice = random.whole(2_000, 2_900)
  return [
    on(22, 'library', `${random.whole(2, 5)}`, `Invoice ${invoice}`),
    on(16, 'shop', `${random.whole(10, 25)}`, `Invoice ${invoice + 3}`),
    on(14, 'shop', '-1.5', `Credit note ${invoice + 4}`),
    on(9, 'ferry', '0.25', `Invoice ${invoice + 7}`),
    on(5, 'library', `${random.whole(2, 5)}`, `Invoice ${invoice + 9}`),
  ]
}

/** Who operates the installation beside the admin token, and what it calls. */
export function accessOf(random: Random): PlannedEvent[] {
  const on = (daysAgo: number, action: Action): PlannedEvent => ({
    at: { daysAgo, ms: 2 * hourMs + random.whole(0, hourMs - 60_000) },
    action,
  })
  return [
    on(28, { kind: 'operator', fields: { name: 'Ines Duarte', email: 'ines@example.com', role: 'editor' }, joins: true }),
    on(25, {
      kind: 'operator',
      fields: { name: 'Sam Okafor', email: 'sam@example.com', role: 'viewer', permissions: ['conversations'] },
      joins: true,
    }),
    on(2, { kind: 'operator', fields: { name: 'Ruth Weiss', email: 'ruth@example.com', role: 'billing' }, joins: false }),
    on(27, { kind: 'token', name: 'Deployment', role: 'editor' }),
    on(11, { kind: 'token', name: 'Invoices of the library', role: 'billing', owner: 'library' }),
    on(4, {
      kind: 'webhook',
      path: '/hooks/orders',
      owner: 'shop',
      events: ['turn.failed', 'turn.released', 'feedback.created', 'balance.low'],
      description: 'Support inbox',
    }),
    on(3, {
      kind: 'webhook',
      path: '/hooks/crm',
      owner: 'library',
      events: ['turn.completed', 'document.failed'],
      description: 'Customer records',
    }),
  ]
}

/** Set after the traffic, and counting it: one window nearly used, and one end user who has used all. */
export const limits = (user: string): PlannedEvent[] => [
  {
    at: { beforeNowMs: 100_000 },
    action: {
      kind: 'limits',
      role: 'orders',
      limits: [
        { scope: 'agent', usd: '0.42', window: 'month' },
        { scope: 'end_user', usd: '0.05', window: 'day' },
      ],
    },
  },
  {
    at: { beforeNowMs: 95_000 },
    action: { kind: 'limits', role: 'orders', user, limits: [{ scope: 'end_user', usd: '0.02', window: 'total' }] },
  },
  {
    at: { beforeNowMs: 90_000 },
    action: { kind: 'limits', role: 'library', limits: [{ scope: 'api_key', usd: '0.08', window: 'month' }] },
  },
]
