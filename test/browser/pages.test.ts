/**
 * Every page with realistic data, in light mode, dark mode and on a phone: no accessibility violations, no horizontal scrolling. A
 * screenshot of each is in artifacts/console afterwards.
 */
import assert from 'node:assert/strict'
import { barriersOf } from '../support/axe.ts'
import { startSeededApp } from '../support/browser-seed.ts'
import type { SeededApp } from '../support/browser-seed.ts'
import { openConsole } from '../support/browser.ts'
import { takePicture } from '../support/browser-visit.ts'
import type { VisitOptions, Visitor } from '../support/browser-visit.ts'

const inConsole = openConsole(startSeededApp)

const phoneWidth = 390
const looks: Record<string, NonNullable<VisitOptions['context']>> = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  phone: { colorScheme: 'light', viewport: { width: phoneWidth, height: 844 }, hasTouch: true },
}

const pagesOf = ({ orders, library, conversationId }: SeededApp): Record<string, string> => ({
  start: '/',
  agents: '/agents',
  'agent new': '/agents/new',
  'agent settings': `/agents/${orders.agentId}`,
  'agent tools': `/agents/${orders.agentId}/tools`,
  'agent versions': `/agents/${orders.agentId}/versions`,
  playground: `/playground/${orders.agentId}`,
  'playground choice': '/playground',
  knowledge: `/knowledge/${library.agentId}`,
  'knowledge small': `/knowledge/${orders.agentId}`,
  keys: `/keys/${orders.agentId}`,
  conversations: '/conversations',
  'conversations none': '/conversations?external_user_id=nobody',
  conversation: `/conversations/${conversationId}`,
  money: '/money',
  owner: `/money/${orders.ownerId}`,
  usage: '/usage',
  providers: '/providers',
  operations: '/operations',
  lost: '/no-such-page',
})

for (const [look, context] of Object.entries(looks))
  inConsole(
    `console: every page is accessible, ${look}`,
    async (visitor) => {
      const found: string[] = []
      for (const [name, path] of Object.entries(pagesOf(visitor.app))) {
        await visitor.open(path)
        await takePicture(visitor.page, look, name)
        for (const line of await faultsOf(visitor)) found.push(`${name}: ${line}`)
      }
      assert.deepEqual(found, [])
    },
    { context },
  )

for (const [look, context] of Object.entries(looks))
  inConsole(
    `console: the sign-in page is accessible, ${look}`,
    async (visitor) => {
      await visitor.open('/')
      await takePicture(visitor.page, look, 'sign in')
      assert.deepEqual(await faultsOf(visitor), [])
    },
    { context, signedIn: false },
  )

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
  { context: looks['phone']! },
)

async function faultsOf({ page }: Visitor<SeededApp>): Promise<string[]> {
  const faults = await barriersOf(page)
  const [width, inner] = await page.evaluate<[number, number]>('[document.scrollingElement.scrollWidth, innerWidth]')
  if (width > inner) faults.push(`it is ${width} px wide where there are ${inner}`)
  const headings = await page.locator('h1').count()
  if (headings !== 1) faults.push(`it has ${headings} headings of level 1`)
  return faults
}
