/**
 * A real Chromium on the console of a real service for the tests of a file: one browser and one app, stopped after the file, and a new
 * visitor (no cookie, nothing stored) for each test. What no visitor should encounter fails the test automatically: see browser-visit.ts.
 *
 *     const inConsole = openConsole(() => startTestApp())
 *     inConsole('console: what it shows', async ({ page, app, open }) => { await open('/agents'); … }, { refusals: [409] })
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'
import { visitConsole } from './browser-visit.ts'
import type { ConsoleApp, VisitOptions, Visitor } from './browser-visit.ts'
import { findChromium } from './chromium.ts'

/** The files that the server serves at /console. */
export const builtConsole = join(import.meta.dirname, '..', '..', 'packages', 'console', 'dist')

/** Why the console cannot be tested here, or false. For the `skip` option of a test. */
export function noConsole(): string | false {
  if (!findChromium()) return 'no Chromium here; install it (apt-get install chromium), or name its program in TEST_CHROMIUM'
  return !existsSync(join(builtConsole, 'index.html')) && 'the console is not built; npm run build:console'
}

type ConsoleTest<App extends ConsoleApp> = (title: string, body: (visitor: Visitor<App>) => Promise<void>, options?: VisitOptions) => void

/** `start` starts the app of the file, whose admin token is that of the tests. Every test is skipped if the console cannot be tested. */
export function openConsole<App extends ConsoleApp>(start: () => Promise<App>): ConsoleTest<App> {
  const skip = noConsole()
  let app: App | undefined
  let browser: Browser | undefined
  before(async () => {
    if (skip) return
    app = await start()
    // Without a sandbox, which most containers do not support; it only loads our own pages. It ends with this process in any case.
    browser = await chromium.launch({ executablePath: findChromium()!, chromiumSandbox: false })
  })
  after(async () => {
    await browser?.close()
    await app?.close()
  })
  return (title, body, options = {}) =>
    void test(title, { skip }, (t) =>
      visitConsole({ app: app!, browser: browser!, options, title, say: (text) => t.diagnostic(text) }, body),
    )
}
