/**
 * A real Chromium on the console of a real service, for the tests of a file: one browser and one app, ended when the file is over, and a fresh
 * visitor (no cookie, nothing stored) for each test. Whatever a visitor meets that no test may meet fails it by itself: see browser-visit.ts.
 *
 *     const inConsole = openConsole(() => startTestApp())
 *     inConsole('console: what it shows', async ({ page, app, open }) => { await open('/agents'); … }, { refusals: [409] })
 */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { after, before, test } from 'node:test'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'
import { visitConsole } from './browser-visit.ts'
import type { ConsoleApp, VisitOptions, Visitor } from './browser-visit.ts'

/** What the server serves at /console. */
export const builtConsole = join(import.meta.dirname, '..', '..', 'packages', 'console', 'dist')

/** Why the console cannot be tested here; false where it can. For the `skip` of a test. */
export function noConsole(): string | false {
  if (!findChromium()) return 'no Chromium here; install it (apt-get install chromium), or name its program in TEST_CHROMIUM'
  return !existsSync(join(builtConsole, 'index.html')) && 'the console is not built; npm run build:console'
}

export function findChromium(): string | undefined {
  const named = process.env['TEST_CHROMIUM']
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  const places = (process.env['PATH'] ?? '').split(delimiter)
  return [...(named ? [named] : []), ...places.flatMap((place) => names.map((name) => join(place, name)))].find((file) => existsSync(file))
}

type ConsoleTest<App extends ConsoleApp> = (title: string, body: (visitor: Visitor<App>) => Promise<void>, options?: VisitOptions) => void

/** `start` makes the app of the file, whose admin token is the tests' own; every test of it is skipped where the console cannot be tested. */
export function openConsole<App extends ConsoleApp>(start: () => Promise<App>): ConsoleTest<App> {
  const skip = noConsole()
  let app: App | undefined
  let browser: Browser | undefined
  before(async () => {
    if (skip) return
    app = await start()
    // No sandbox, as there is none in most containers; it meets nothing but our own page. It ends with this process, however that ends.
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
