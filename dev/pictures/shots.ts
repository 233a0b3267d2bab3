/** The pages that `npm run pictures` takes, and the rows of the store that they are of. */
import type { Page } from 'playwright-core'
import type { Client } from '../seed/client.ts'

export type Shot = { name: string; path: string; prepare?: (page: Page) => Promise<void> }

/** What the pages are of: found in the sample data. */
type Found = Record<'agent' | 'owner' | 'turn' | 'failed' | 'conversation' | 'document' | 'webhook' | 'operator' | 'user', string> & {
  documentAgent: string
}

/** Finds what the pages show in the sample data. */
export async function findSamples(client: Client): Promise<Found> {
  const named = async (path: string, field: string, value: string): Promise<string> => {
    const found = (await client.list(path)).find((item) => item[field] === value)
    if (!found) throw new Error(`the sample data has no ${path} with ${field} ${value}`)
    return String(found['id'])
  }
  const agent = await named('/agents', 'name', 'Order desk')
  const documentAgent = await named('/agents', 'name', 'Reading room')
  const turns = await client.list(`/turns?agent_id=${agent}`)
  const failed = (await client.list(`/turns?agent_id=${documentAgent}`)).find(({ state }) => state === 'released')!
  // The newest one that called a tool, which shows most kinds of spans.
  let chosen = turns[0]!
  for (const turn of turns) {
    const { spans } = (await client.get(`/turns/${String(turn['request_id'])}/trace`)) as { spans: { type: string }[] }
    if (!spans.some(({ type }) => type === 'tool_call')) continue
    chosen = turn
    break
  }
  const conversation = String(chosen['conversation_id'])
  return {
    agent,
    owner: String((await client.get(`/agents/${agent}`))['owner_id']),
    turn: String(chosen['request_id']),
    failed: String(failed['request_id']),
    conversation,
    user: String((await client.get(`/conversations/${conversation}`))['external_user_id']),
    documentAgent,
    document: await named(`/agents/${documentAgent}/documents`, 'status', 'ready'),
    webhook: await named('/webhooks', 'description', 'Customer records'),
    operator: await named('/operators', 'role', 'viewer'),
  }
}

/** The pages of the README and the documentation. */
export const featured = ({ agent, turn }: Found): Shot[] => [
  { name: 'overview', path: '/?range=30d' },
  { name: 'trace', path: `/turns/${turn}` },
  {
    name: 'playground',
    path: `/playground/${agent}`,
    async prepare(page) {
      await page.getByRole('textbox', { name: 'Message' }).fill('Where is my order 4711?')
      await page.keyboard.press('Enter')
      await page.getByRole('log').getByText('Order 4711 was sent').last().waitFor()
    },
  },
]

/** Every page, filled. */
export const allPages = (found: Found): Shot[] => [
  ...featured(found),
  { name: 'failed trace', path: `/turns/${found.failed}` },
  { name: 'compared traces', path: `/turns/${found.turn}?compare=${found.failed}` },
  { name: 'agents', path: '/agents' },
  { name: 'new agent', path: '/agents/new' },
  ...['', '/knowledge', '/tools', '/limits', '/keys', '/versions', '/activity'].map((tab) => ({
    name: `agent${tab.replace('/', ' ')}`,
    path: `/agents/${found.agent}${tab}`,
  })),
  { name: 'knowledge', path: `/knowledge/${found.documentAgent}` },
  { name: 'document', path: `/knowledge/${found.documentAgent}/${found.document}` },
  { name: 'conversations', path: '/conversations' },
  { name: 'conversation', path: `/conversations/${found.conversation}` },
  { name: 'traces', path: '/turns' },
  { name: 'end users', path: `/end-users/${found.agent}?window=total` },
  { name: 'end user', path: `/end-users/${found.agent}/one?external_user_id=${encodeURIComponent(found.user)}` },
  { name: 'feedback', path: '/feedback' },
  { name: 'usage', path: '/usage' },
  { name: 'owners', path: '/money' },
  { name: 'owner', path: `/money/${found.owner}` },
  { name: 'limits', path: '/limits' },
  { name: 'keys', path: `/keys/${found.agent}` },
  { name: 'webhooks', path: '/webhooks' },
  { name: 'webhook', path: `/webhooks/${found.webhook}` },
  { name: 'providers', path: '/providers' },
  { name: 'status', path: '/operations' },
  { name: 'audit', path: '/audit' },
  { name: 'operators', path: '/operators' },
  { name: 'operator', path: `/operators/${found.operator}` },
  { name: 'tokens', path: '/tokens' },
  { name: 'account', path: '/account' },
]

const notFilled = new Set(['trace', 'playground', 'compared traces', 'failed trace', 'conversation', 'document', 'webhook', 'operator'])

/** The pages of a new installation, with `found` as its only agent and owner: every list, and the details that exist. */
export const emptyPages = (found: Pick<Found, 'agent' | 'owner'>): Shot[] => [
  ...allPages({ ...noSamples, ...found, documentAgent: found.agent }).filter(({ name }) => !notFilled.has(name)),
  { name: 'playground', path: `/playground/${found.agent}` },
  { name: 'skipped setup', path: '/?overview' },
]

const noSamples: Found = {
  agent: '',
  owner: '',
  turn: '',
  failed: '',
  conversation: '',
  document: '',
  webhook: '',
  operator: '',
  user: 'new-customer',
  documentAgent: '',
}
