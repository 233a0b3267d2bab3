/** A window of the browser: a context with one page. It can be emptied, so that the next visitor finds nothing of the previous one. */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { setTimeout as delay } from 'node:timers/promises'

export type BrowserWindow = { context: BrowserContext; page: Page }

// A limit for what never arrives, not a measurement: the machine may be very busy.
export const waitsMs = 60_000

const size = { width: 1280, height: 800 }

/** What the page received last, so that a failed test shows whether a click arrived at the button. */
const record = `window.__received = []
for (const type of ['mousedown', 'mouseup', 'click', 'keydown', 'pushState', 'replaceState', 'popstate'])
  addEventListener(type, ({ target, key, clientX, clientY }) => {
    const place = clientX === undefined ? '' : \` at \${clientX}, \${clientY}\`
    const on = target?.tagName === undefined ? location.pathname : \`\${target.tagName} "\${target.textContent.slice(0, 40)}"\`
    window.__received = [...window.__received.slice(-19), \`\${Math.round(performance.now())} ms: \${type} \${key ?? ''} \${on}\${place}\`]
  }, true)`

export async function openWindow(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserWindow> {
  const context = await browser.newContext({ viewport: size, colorScheme: 'light', reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(waitsMs)
  await context.addInitScript(`addEventListener('securitypolicyviolation', (event) =>
    console.error('the policy forbids ' + event.violatedDirective + ' ' + event.blockedURI))`)
  await context.addInitScript(record)
  await slowDown(context, '**/admin/v1/**')
  return { context, page: await context.newPage() }
}

/**
 * Removes what a visit left: the document, cookies, stored data, other pages, and what the test itself set up on the page. The cache of
 * files remains, and the process of the page with its compiled scripts: a new context takes half a second of CPU time to get as far.
 * An init script and a session of the browser's protocol cannot be removed; a test that adds one needs a context of its own.
 */
export async function emptyWindow({ context, page }: BrowserWindow, adminUrl: string): Promise<void> {
  for (const event of ['console', 'dialog', 'page', 'request', 'response', 'weberror'] as const) context.removeAllListeners(event)
  for (const event of [
    'console',
    'dialog',
    'download',
    'filechooser',
    'framenavigated',
    'pageerror',
    'popup',
    'request',
    'response',
  ] as const)
    page.removeAllListeners(event)
  for (const other of context.pages()) if (other !== page) await other.close()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  if (page.url().startsWith('http')) await page.evaluate('localStorage.clear(), sessionStorage.clear()')
  // A document of the same origin: at about:blank, the browser would replace the process. Without an icon, the browser would ask for one.
  const empty = `${adminUrl}/console/empty`
  await page.route(empty, (route) => route.fulfill({ contentType: 'text/html', body: '<link rel="icon" href="data:,">' }))
  await page.goto(empty)
  await page.unroute(empty)
  await context.clearCookies()
  await context.clearPermissions()
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.setViewportSize(size)
}

/**
 * Milliseconds by which each request of a page to an API arrives later. A test that reads before the page has saved or loaded fails with
 * it, and not only on a busy machine: `TEST_SLOW_API_MS=600 npm test -- browser/ cookbook/`
 */
const slowApiMs = Number(process.env['TEST_SLOW_API_MS'] ?? 0)

export async function slowDown(context: BrowserContext, path: string): Promise<void> {
  if (slowApiMs === 0) return
  await context.route(path, async (route) => {
    await delay(slowApiMs)
    // The page may have been closed, or may have ended the request.
    await route.continue().catch(() => undefined)
  })
}
