/**
 * A real Chromium on the console of a real service for the tests of a file: one browser and one app, stopped after the file, and a new
 * visitor (no cookie, nothing stored) for each test. Tests without a context of their own use the same window one after another. What no visitor should encounter fails the test automatically: see browser-visit.ts.
 *
 *     const inConsole = openConsole(() => startTestApp())
 *     inConsole('console: what it shows', async ({ page, app, open }) => { await open('/agents'); … }, { refusals: [409] })
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { visitConsole } from './browser-visit.ts'
import type { ConsoleApp, VisitOptions, Visitor } from './browser-visit.ts'
import { emptyWindow, openWindow } from './browser-window.ts'
import type { BrowserWindow } from './browser-window.ts'
import { launchChromium, noChromium } from './chromium.ts'

/** The files that the server serves at /console. */
export const builtConsole = join(import.meta.dirname, '..', '..', 'packages', 'console', 'dist')

/** Why the console cannot be tested here, or false. For the `skip` option of a test. */
export function noConsole(): string | false {
  return noChromium() || (!existsSync(join(builtConsole, 'index.html')) && 'the console is not built; npm run build:console')
}

type ConsoleTest<App extends ConsoleApp> = (title: string, body: (visitor: Visitor<App>) => Promise<void>, options?: VisitOptions) => void

/** `start` starts the app of the file, whose admin token is that of the tests. Every test is skipped if the console cannot be tested. */
export function openConsole<App extends ConsoleApp>(start: () => Promise<App>): ConsoleTest<App> {
  const skip = noConsole()
  let app: App | undefined
  let browser: Browser | undefined
  let shared: BrowserWindow | undefined
  before(async () => {
    if (skip) return
    ;[app, browser] = await Promise.all([start(), launchChromium()])
  })
  after(async () => {
    await browser?.close()
    await app?.close()
  })
  return (title, body, options = {}) =>
    void test(title, { skip }, async (t) => {
      const isOwn = options.context !== undefined
      const window = isOwn ? await openWindow(browser!, options.context) : (shared ?? (await openWindow(browser!)))
      try {
        // After a failure, the next test gets a new window.
        shared = isOwn ? shared : undefined
        await visitConsole({ app: app!, window, options, title, say: (text) => t.diagnostic(text) }, body)
        if (isOwn) return
        await emptyWindow(window, app!.adminUrl)
        shared = window
      } finally {
        if (shared !== window) await window.context.close()
      }
    })
}
