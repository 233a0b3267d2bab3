/**
 * `npm run pictures`: takes the pictures of the console in docs/pictures from a server with sample data, in light and dark. With --all, takes
 * every page in light, dark and on a phone into another folder, to look at. Exit codes: 0 done · 1 failed · 2 wrong usage.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import type { Browser, Page } from 'playwright-core'
import { findChromium, noConsole } from '../test/support/browser.ts'
import { holdClock } from './clock-socket.ts'
import { fill } from './seed/fill.ts'
import { planTraffic } from './seed/plan.ts'
import { createClient } from './seed/client.ts'
import type { Client } from './seed/client.ts'
import { startServerProcess } from './server-process.ts'

const help = `Take the pictures of the console in docs/pictures from sample data. Needs Chromium and a built console (npm run build:console).

Usage: npm run pictures -- [options]

  --all FOLDER   Take every page in light, dark and on a phone into FOLDER instead
  --only TEXT    Only pages whose name contains TEXT
  --seed N       Choose the sample data (default 1)
  --help         Show this help
`

type Shot = { name: string; path: string; prepare?: (page: Page) => Promise<void> }
type Look = { name: string; colorScheme: 'light' | 'dark'; viewport: { width: number; height: number } }

const wide = { width: 1440, height: 900 }
const looks: Look[] = [
  { name: 'light', colorScheme: 'light', viewport: wide },
  { name: 'dark', colorScheme: 'dark', viewport: wide },
]
const phone: Look = { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 } }

/** What the pages are of: found in the sample data. */
type Found = Record<'agent' | 'owner' | 'turn' | 'failed' | 'conversation' | 'document' | 'webhook' | 'operator' | 'user', string> & {
  documentAgent: string
}

async function findSamples(client: Client): Promise<Found> {
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
const featured = ({ agent, turn }: Found): Shot[] => [
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

const allPages = (found: Found): Shot[] => [
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
  { name: 'external users', path: `/end-users/${found.agent}?window=total` },
  { name: 'external user', path: `/end-users/${found.agent}/one?external_user_id=${encodeURIComponent(found.user)}` },
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

type Job = { browser: Browser; adminUrl: string; adminToken: string; folder: string }

async function take({ browser, adminUrl, adminToken, folder }: Job, shots: Shot[], look: Look): Promise<void> {
  const { viewport, colorScheme } = look
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' })
  await context.request.post(`${adminUrl}/admin/v1/session`, { data: { token: adminToken } })
  const page = await context.newPage()
  for (const { name, path, prepare } of shots) {
    await page.goto(`${adminUrl}/console${path}`)
    await page.waitForLoadState('networkidle')
    await prepare?.(page)
    // Charts are drawn, and fonts are loaded.
    await page.waitForTimeout(700)
    await page.screenshot({ path: join(folder, `console-${name.replaceAll(' ', '-')}-${look.name}.png`) })
  }
  await context.close()
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      all: { type: 'string' },
      only: { type: 'string', default: '' },
      seed: { type: 'string', default: '1' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) return void process.stdout.write(help)
  const missing = noConsole()
  if (missing) throw new Error(missing)
  const folder = values.all === undefined ? join(import.meta.dirname, '..', 'docs', 'pictures') : resolve(values.all)
  mkdirSync(folder, { recursive: true })
  const data = mkdtempSync(join(tmpdir(), 'turnkeep-pictures-'))
  const server = startServerProcess({ ...process.env, TURNKEEP_DATA_DIR: data, PORT: '0', TURNKEEP_LOG_LEVEL: 'silent' })
  try {
    const { adminUrl } = await server.ready
    const adminToken = readFileSync(join(data, 'admin.token'), 'utf8').trim()
    const clock = await holdClock(data)
    if (!clock) throw new Error('the development server does not answer')
    await fill({ ...clock, adminToken }, planTraffic(Number(values.seed)))
    const found = await findSamples(createClient({ url: clock.url, adminUrl, adminToken }))
    const shots = (values.all === undefined ? featured : allPages)(found).filter(({ name }) => name.includes(values.only))
    const browser = await chromium.launch({ executablePath: findChromium()!, chromiumSandbox: false })
    try {
      for (const look of values.all === undefined ? looks : [...looks, phone])
        await take({ browser, adminUrl, adminToken, folder }, shots, look)
    } finally {
      await browser.close()
      clock.close()
    }
    console.log(`${shots.length} pages are in ${folder}.`)
  } finally {
    await server.stop()
    if (existsSync(data)) rmSync(data, { recursive: true })
  }
}

try {
  await main()
} catch (error) {
  console.error(`pictures: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = error instanceof TypeError ? 2 : 1
}
