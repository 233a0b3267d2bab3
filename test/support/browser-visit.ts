/**
 * One visitor of the console. These fail the test: an error on the browser's console, an exception, a dialog, a violation of the page's
 * policy, a request to another origin, a secret in an address, stored data other than the color scheme, or a text that was executed
 * (`window.__xss`).
 */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { waitsMs } from './browser-window.ts'
import type { BrowserWindow } from './browser-window.ts'
import { adminToken } from './test-app.ts'

/** Not in git. */
const pictures = join(import.meta.dirname, '..', '..', 'artifacts', 'console')

export type VisitOptions = {
  /** By default signed in without the form. */
  signedIn?: boolean
  /** Error statuses that the test expects, because the browser logs each of them. */
  refusals?: number[]
  /** Settings of a context that only this test uses: what `emptyWindow` cannot take back needs one, be it without settings. */
  context?: BrowserContextOptions
}

/** The server of the console. */
export type ConsoleApp = {
  adminUrl: string
  /** The origin of the identity provider, to which a sign-in leads. */
  identityOrigin?: string
  close(): Promise<void>
}

export type Visitor<App extends ConsoleApp = ConsoleApp> = {
  page: Page
  context: BrowserContext
  app: App
  /** The violations so far. */
  pageErrors: string[]
  /** Opens a page of the console and waits until it has loaded. */
  open(path: string): Promise<void>
  /** Resolves when nothing on the page is loading or moving any more. */
  settled(): Promise<void>
  /** Prints a line with the test's result. */
  say(text: string): void
}

type Visit<App extends ConsoleApp> = {
  app: App
  window: BrowserWindow
  options: VisitOptions
  title: string
  say: (text: string) => void
}

/** The window is as new. If the test fails, a screenshot is saved in artifacts/console/failed. */
export async function visitConsole<App extends ConsoleApp>(
  { app, window: { context, page }, options, title, say }: Visit<App>,
  body: (visitor: Visitor<App>) => Promise<void>,
): Promise<void> {
  const pageErrors: string[] = []
  const origins = [new URL(app.adminUrl).origin, ...(app.identityOrigin === undefined ? [] : [app.identityOrigin])]
  watch(context, page, { origins, refusals: options.refusals ?? [], pageErrors })
  if (options.signedIn !== false) await signIn(context, app.adminUrl)
  const settled = (): Promise<void> => settle(page)
  async function open(path: string): Promise<void> {
    await page.goto(`${app.adminUrl}/console${path}`)
    await settled()
  }
  try {
    await body({ page, context, app, pageErrors, open, settled, say })
    await lookForTraces(page, pageErrors)
  } catch (error) {
    say(await lastEvents(page))
    await takeFailed(page, title)
    if (pageErrors.length > 0) throw new Error(`${String(error)}\nand there was:\n${pageErrors.join('\n')}`, { cause: error })
    throw error
  }
  if (pageErrors.length > 0) await takeFailed(page, title)
  assert.deepEqual(pageErrors, [])
}

function watch(
  context: BrowserContext,
  first: Page,
  { origins, refusals, pageErrors }: { origins: string[]; refusals: number[]; pageErrors: string[] },
): void {
  const noSecret = (url: string): void => {
    if (url.includes(adminToken) || url.includes('svc_live_')) pageErrors.push(`an address contains a secret: ${url}`)
  }
  context.on('request', (request) => {
    const url = request.url()
    noSecret(url)
    const stays = url.startsWith('data:') || url.startsWith('blob:') || origins.includes(new URL(url).origin)
    if (!stays) pageErrors.push(`a request left the origin: ${request.method()} ${url}`)
  })
  context.on('console', (message) => {
    if (message.type() !== 'error') return
    const [, status] = /^Failed to load resource: .* status of (\d+)/.exec(message.text()) ?? []
    const { url } = message.location()
    // Without a session, the page's request for it gets a 401.
    const isExpected = refusals.includes(Number(status)) || (status === '401' && url.endsWith('/admin/v1/session'))
    if (!isExpected) pageErrors.push(`on the console: ${message.text()} (${url})`)
  })
  context.on('weberror', (error) => void pageErrors.push(`an exception: ${error.error().stack ?? error.error().message}`))
  context.on('dialog', (dialog) => {
    pageErrors.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  const follow = (page: Page): void => void page.on('framenavigated', (frame) => noSecret(frame.url()))
  follow(first)
  context.on('page', follow)
}

/** Signs in as the page's form does. */
async function signIn(context: BrowserContext, adminUrl: string): Promise<void> {
  const answer = await context.request.post(`${adminUrl}/admin/v1/session`, { data: { token: adminToken } })
  assert.equal(answer.status(), 201, await answer.text())
}

// The first heading is shown, no loader is, and nothing moves except endless animations.
const isSettled = `(() => {
  const isShown = (element) => {
    const { width, height } = element?.getBoundingClientRect() ?? { width: 0, height: 0 }
    return width > 0 && height > 0 && element.checkVisibility({ visibilityProperty: true })
  }
  return isShown(document.querySelector('h1')) && !isShown(document.querySelector('.mantine-Loader-root, .mantine-Skeleton-root')) &&
    !document.getAnimations().some(({ playState, effect }) =>
      playState === 'running' && effect?.getComputedTiming().endTime !== Infinity)
})()`

/** Asks the page itself, in short intervals: a locator of Playwright looks again only after half a second. */
async function settle(page: Page): Promise<void> {
  for (;;) {
    try {
      return await becomes(page, isSettled)
    } catch (error) {
      // The page went on to another one.
      if (!/context was destroyed|navigation/.test(String(error))) throw error
      await page.waitForLoadState()
    }
  }
}

/** Resolves when the expression is true in the page. The page's policy forbids Playwright's own way. */
export async function becomes(page: Page, expression: string): Promise<void> {
  const found = await page.evaluate<boolean>(`new Promise((resolve) => {
    const endsAt = performance.now() + ${waitsMs}
    const look = () => (${expression} ? resolve(true) : performance.now() > endsAt ? resolve(false) : setTimeout(look, 20))
    look()
  })`)
  assert.ok(found, `it did not become true: ${expression}`)
}

async function lookForTraces(page: Page, pageErrors: string[]): Promise<void> {
  if (!page.url().startsWith('http')) return
  const left = await page.evaluate<string[]>('[...Object.keys(localStorage), ...Object.keys(sessionStorage)]')
  for (const key of left) if (key !== 'mantine-color-scheme-value') pageErrors.push(`stored in the browser: ${key}`)
  if ((await page.evaluate('window.__xss')) !== undefined) pageErrors.push('a text was executed')
}

/** Where the page is, and what it received last. A page that does not answer must not hide the failure of the test. */
async function lastEvents(page: Page): Promise<string> {
  const received = await page.evaluate<string[]>('window.__received').catch((error: unknown) => [String(error)])
  return [`the page was at ${page.url()} and had received:`, ...(received ?? [])].join('\n')
}

const takeFailed = (page: Page, title: string): Promise<void> => writePicture(page, 'failed', title)

/**
 * To look at what a test saw: `TEST_PICTURES=1 npm test -- browser/`. By default it is not taken, because it takes a third of the time of
 * a visit and no test needs it. `npm run pictures -- --all FOLDER` takes every page without the tests.
 */
export async function takePicture(page: Page, folder: string, name: string): Promise<void> {
  if (process.env['TEST_PICTURES'] === '1') await writePicture(page, folder, name)
}

async function writePicture(page: Page, folder: string, name: string): Promise<void> {
  await mkdir(join(pictures, folder), { recursive: true })
  const file = `${name.replaceAll(/[^a-z0-9]+/gi, '-').slice(0, 100)}.png`
  // A failed screenshot must not hide the failure of the test.
  await takeWhole(page, join(pictures, folder, file)).catch(() => undefined)
}

/** In a window as high as the page, so that lists which only render visible rows render all of them. */
async function takeWhole(page: Page, path: string): Promise<void> {
  const size = page.viewportSize()!
  await page.waitForLoadState('networkidle', { timeout: 5_000 })
  const height = await page.evaluate<number>('document.scrollingElement.scrollHeight')
  await page.setViewportSize({ width: size.width, height: Math.max(size.height, height) })
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
  await page.screenshot({ path })
  await page.setViewportSize(size)
}
