/** A Chromium for a page of the cookbook. An exception on the page, or a request to an unlisted place, fails the test. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { slowDown } from './browser-window.ts'
import { launchChromium, noChromium } from './chromium.ts'

const pictures = join(import.meta.dirname, '../../artifacts/cookbook')

/** Why it cannot run here, or false. For the `skip` option of a test. */
export const noBrowser = noChromium

export async function visit(
  origins: string[],
  body: (page: Page, picture: (name: string) => Promise<void>) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const browser = await launchChromium()
  try {
    const context = await browser.newContext(options)
    await slowDown(context, '**/api/**')
    const page = await context.newPage()
    const pageErrors: string[] = []
    page.on('pageerror', (error) => pageErrors.push(String(error)))
    page.on('request', (request) => !origins.includes(new URL(request.url()).origin) && pageErrors.push(request.url()))
    mkdirSync(pictures, { recursive: true })
    await body(page, async (name) => void (await page.screenshot({ path: join(pictures, `${name}.png`) })))
    assert.deepEqual(pageErrors, [])
  } finally {
    await browser.close()
  }
}
