/**
 * Every page with realistic data, in light mode, dark mode and on a phone: no accessibility violations, no horizontal scrolling.
 * With TEST_PICTURES=1, a screenshot of each is in artifacts/console afterwards.
 */
import assert from 'node:assert/strict'
import { barriersOf } from '../support/axe.ts'
import { startSeededApp } from '../support/browser-seed.ts'
import type { SeededApp } from '../support/browser-seed.ts'
import { openConsole } from '../support/browser.ts'
import { takePicture } from '../support/browser-visit.ts'
import type { VisitOptions, Visitor } from '../support/browser-visit.ts'

const inConsole = openConsole(startSeededApp)

/** `rules`: those of axe that depend on it; by default all. */
type Look = { name: string; colorScheme: 'light' | 'dark'; rules?: string[] }
type Screen = { looks: Look[]; context?: NonNullable<VisitOptions['context']> }

const phone: Screen = {
  looks: [{ name: 'phone', colorScheme: 'light' }],
  context: { viewport: { width: 390, height: 844 }, hasTouch: true },
}
const screens: Record<string, Screen> = {
  // One load of the page for both: it follows the system's color scheme when that changes.
  'light and dark': {
    looks: [
      { name: 'light', colorScheme: 'light' },
      { name: 'dark', colorScheme: 'dark', rules: ['color-contrast', 'link-in-text-block'] },
    ],
  },
  phone,
}

const pagesOf = ({ orders, library, externalUserId, conversationId, requestId }: SeededApp): Record<string, string> => ({
  start: '/',
  agents: '/agents',
  'agent new': '/agents/new',
  'agent settings': `/agents/${orders.agentId}`,
  'agent tools': `/agents/${orders.agentId}/tools`,
  'agent versions': `/agents/${orders.agentId}/versions`,
  'agent activity': `/agents/${orders.agentId}/activity`,
  'knowledge choice': '/knowledge',
  playground: `/playground/${orders.agentId}`,
  'playground choice': '/playground',
  knowledge: `/knowledge/${library.agentId}`,
  'knowledge small': `/knowledge/${orders.agentId}`,
  keys: `/keys/${orders.agentId}`,
  conversations: '/conversations',
  'conversations none': '/conversations?external_user_id=nobody',
  traces: '/turns',
  conversation: `/conversations/${conversationId}`,
  'traces none': '/turns?trace_id=0123456789abcdef0123456789abcdef',
  turn: `/turns/${requestId}`,
  'turn compared': `/turns/${requestId}?compare=${requestId}`,
  'turn comparison choice': `/turns/${requestId}?compare=`,
  'turn again': `/turns/${requestId}?view=again`,
  'end users': `/end-users/${orders.agentId}?window=total`,
  'end users choice': '/end-users',
  'end user': `/end-users/${orders.agentId}/one?external_user_id=${encodeURIComponent(externalUserId)}`,
  feedback: '/feedback',
  'feedback none': '/feedback?tag=none',
  money: '/money',
  owner: `/money/${orders.ownerId}`,
  usage: '/usage',
  providers: '/providers',
  webhooks: '/webhooks',
  limits: '/limits',
  operations: '/operations',
  'audit log': '/audit',
  operators: '/operators',
  tokens: '/tokens',
  lost: '/no-such-page',
})

// All pages in one test would take minutes on a busy machine.
const parts = 4

for (const [screen, { looks, context }] of Object.entries(screens)) {
  for (let part = 0; part < parts; part++)
    inConsole(
      `console: every page is accessible, ${screen}, ${part + 1} of ${parts}`,
      async (visitor) => {
        const found: string[] = []
        const pages = Object.entries(pagesOf(visitor.app)).filter((_, index) => index % parts === part)
        for (const [index, [name, path]] of pages.entries()) {
          await visitor.open(path)
          // A page opens in the color scheme of the previous one, which is not changed before it is needed.
          const ordered = index % 2 === 0 ? looks : looks.toReversed()
          for (const line of await faultsInEach(visitor, ordered, name)) found.push(`${name}: ${line}`)
        }
        assert.deepEqual(found, [])
      },
      { context },
    )

  inConsole(
    `console: the sign-in page is accessible, ${screen}`,
    async (visitor) => {
      await visitor.open('/')
      assert.deepEqual(await faultsInEach(visitor, looks, 'sign in'), [])
    },
    { context, signedIn: false },
  )
}

inConsole(
  'console: on a phone the navigation folds into a menu that opens, navigates and closes',
  async ({ page, open }) => {
    await open('/agents')
    const menu = page.getByRole('navigation', { name: 'Main' })
    assert.equal(await menu.getByRole('link', { name: 'Usage' }).isVisible(), false)
    await page.getByRole('button', { name: 'Open menu' }).click()
    await menu.getByRole('link', { name: 'Usage' }).click()
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor()
    await menu.getByRole('link', { name: 'Usage' }).waitFor({ state: 'hidden' })
  },
  { context: phone.context },
)

/** Returns what is wrong with the page in each look. */
async function faultsInEach(visitor: Visitor<SeededApp>, looks: Look[], name: string): Promise<string[]> {
  const found: string[] = []
  for (const { name: look, colorScheme, rules } of looks) {
    await visitor.page.emulateMedia({ colorScheme })
    await visitor.page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor()
    // The new colors are drawn, and transitions have started.
    await visitor.page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
    await visitor.settled()
    await takePicture(visitor.page, look, name)
    for (const line of await faultsOf(visitor, rules)) found.push(`${look}: ${line}`)
  }
  return found
}

async function faultsOf({ page }: Visitor<SeededApp>, rules: string[] | undefined): Promise<string[]> {
  const faults = await barriersOf(page, rules)
  const [width, inner] = await page.evaluate<[number, number]>('[document.scrollingElement.scrollWidth, innerWidth]')
  if (width > inner) faults.push(`it is ${width} px wide where there are ${inner}`)
  const headings = await page.locator('h1').count()
  if (headings !== 1) faults.push(`it has ${headings} headings of level 1`)
  return faults
}
