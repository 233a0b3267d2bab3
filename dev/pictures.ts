/**
 * `npm run pictures`: takes the pictures of the console in docs/pictures from a server with sample data, in light and dark. With --all, takes
 * every page in light, dark and on a phone into another folder, to look at: full, empty as in a new installation, failing because the admin
 * API answers 500, and loading because it does not answer. Exit codes: 0 done · 1 failed · 2 wrong usage.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser, BrowserContext } from 'playwright-core'
import { noConsole } from '../test/support/browser.ts'
import { launchChromium } from '../test/support/chromium.ts'
import { holdClock } from './clock-socket.ts'
import { allPages, emptyPages, featured, findSamples } from './pictures/shots.ts'
import type { Shot } from './pictures/shots.ts'
import { fill } from './seed/fill.ts'
import { planTraffic } from './seed/plan.ts'
import { createClient } from './seed/client.ts'
import { startServerProcess } from './server-process.ts'

const help = `Take the pictures of the console in docs/pictures from sample data. Needs Chromium and a built console (npm run build:console).

Usage: npm run pictures -- [options]

  --all FOLDER   Take every page in light, dark and on a phone into FOLDER instead
  --only TEXT    Only pages whose name contains TEXT
  --state STATE  With --all: only full, empty, failing or loading pages
  --seed N       Choose the sample data (default 1)
  --help         Show this help
`

type Look = { name: string; colorScheme: 'light' | 'dark'; viewport: { width: number; height: number } }

const wide = { width: 1440, height: 900 }
const looks: Look[] = [
  { name: 'light', colorScheme: 'light', viewport: wide },
  { name: 'dark', colorScheme: 'dark', viewport: wide },
]
const phone: Look = { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 } }

const states = ['full', 'empty', 'failing', 'loading'] as const
type State = (typeof states)[number]

type Job = { browser: Browser; adminUrl: string; adminToken: string; folder: string; state: State }

async function take({ browser, adminUrl, adminToken, folder, state }: Job, shots: Shot[], look: Look): Promise<void> {
  const { viewport, colorScheme } = look
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' })
  await context.request.post(`${adminUrl}/admin/v1/session`, { data: { token: adminToken } })
  if (state === 'failing' || state === 'loading') await disturb(context, state)
  const page = await context.newPage()
  for (const { name, path, prepare } of shots) {
    await page.goto(`${adminUrl}/console${path}`)
    if (state !== 'loading') await page.waitForLoadState('networkidle')
    if (state === 'full') await prepare?.(page)
    // Charts are drawn, fonts are loaded, and failed requests have been repeated.
    await page.waitForTimeout(state === 'failing' ? 2_500 : 900)
    const suffix = state === 'full' ? look.name : `${state}-${look.name}`
    await page.screenshot({ path: join(folder, `console-${name.replaceAll(' ', '-')}-${suffix}.png`) })
  }
  await context.close()
}

// Without them, no page opens.
const openers = new Set(['/admin/v1/session', '/admin/v1/me'])

/** The session is answered, so that the pages open. Every other request of the admin API fails, or waits until the browser ends. */
async function disturb(context: BrowserContext, state: 'failing' | 'loading'): Promise<void> {
  const error = { code: 'internal_error', message: 'An internal error occurred.', request_id: '01920000-0000-7000-8000-000000000000' }
  await context.route('**/admin/v1/**', (route) => {
    if (openers.has(new URL(route.request().url()).pathname)) return route.continue()
    if (state === 'failing') return route.fulfill({ status: 500, headers: { 'X-Request-Id': error.request_id }, json: { error } })
    return undefined
  })
}

type NewServer = { data: string; adminUrl: string; adminToken: string }

/** Runs `work` with a new installation, which is removed afterwards. */
async function withServer(work: (server: NewServer) => Promise<void>): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'turnkeep-pictures-'))
  const server = startServerProcess({ ...process.env, TURNKEEP_DATA_DIR: data, PORT: '0', TURNKEEP_LOG_LEVEL: 'silent' })
  try {
    const { adminUrl } = await server.ready
    await work({ data, adminUrl, adminToken: readFileSync(join(data, 'admin.token'), 'utf8').trim() })
  } finally {
    await server.stop()
    if (existsSync(data)) rmSync(data, { recursive: true })
  }
}

type Wanted = { folder: string; only: string; seed: number; states: State[]; isAll: boolean }

async function takeFilled(browser: Browser, { folder, only, seed, states: wanted, isAll }: Wanted): Promise<void> {
  await withServer(async ({ data, adminUrl, adminToken }) => {
    const clock = await holdClock(data)
    if (!clock) throw new Error('the development server does not answer')
    try {
      await fill({ ...clock, adminToken }, planTraffic(seed))
      const found = await findSamples(createClient({ url: clock.url, adminUrl, adminToken }))
      const shots = (isAll ? allPages : featured)(found).filter(({ name }) => name.includes(only))
      for (const state of wanted.filter((one) => one !== 'empty'))
        for (const look of isAll ? [...looks, phone] : looks) await take({ browser, adminUrl, adminToken, folder, state }, shots, look)
    } finally {
      clock.close()
    }
  })
}

async function takeEmpty(browser: Browser, { folder, only }: Wanted): Promise<void> {
  await withServer(async ({ adminUrl, adminToken }) => {
    const client = createClient({ url: '', adminUrl, adminToken })
    // The first start creates them.
    const [demo] = await client.list('/agents')
    if (!demo) throw new Error('a new installation has no demo agent')
    const shots = emptyPages({ agent: String(demo['id']), owner: String(demo['owner_id']) }).filter(({ name }) => name.includes(only))
    for (const look of [...looks, phone]) await take({ browser, adminUrl, adminToken, folder, state: 'empty' }, shots, look)
  })
}

function readWanted(): Wanted | 'help' {
  const { values } = parseArgs({
    options: {
      all: { type: 'string' },
      only: { type: 'string', default: '' },
      seed: { type: 'string', default: '1' },
      state: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) return 'help'
  const isAll = values.all !== undefined
  const state = states.find((one) => one === values.state)
  if (values.state !== undefined && (!state || !isAll))
    throw new TypeError('--state takes full, empty, failing or loading, together with --all')
  const folder = values.all === undefined ? join(import.meta.dirname, '..', 'docs', 'pictures') : resolve(values.all)
  return { folder, only: values.only, seed: Number(values.seed), states: state ? [state] : isAll ? [...states] : ['full'], isAll }
}

async function main(): Promise<void> {
  const wanted = readWanted()
  if (wanted === 'help') return void process.stdout.write(help)
  const missing = noConsole()
  if (missing) throw new Error(missing)
  mkdirSync(wanted.folder, { recursive: true })
  const browser = await launchChromium()
  try {
    if (wanted.states.some((state) => state !== 'empty')) await takeFilled(browser, wanted)
    if (wanted.states.includes('empty')) await takeEmpty(browser, wanted)
  } finally {
    await browser.close()
  }
  console.log(`The pictures are in ${wanted.folder}.`)
}

try {
  await main()
} catch (error) {
  console.error(`pictures: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = error instanceof TypeError ? 2 : 1
}
