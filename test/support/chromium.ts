/** The Chromium of the tests: which program it is, and how it is started so that a page costs little. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Browser } from 'playwright-core'

/** Why no test can use a browser here, or false. For the `skip` option of a test. */
export function noChromium(): string | false {
  return !findChromium() && 'no Chromium here; install it (apt-get install chromium), or name its program in TEST_CHROMIUM'
}

// The headless shell has no windows around its pages, and needs half the CPU time of a whole browser. It is preferred where it is installed.
const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

// Not in PATH there.
const onMacOS = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'

/** The path of its program: TEST_CHROMIUM, or the first in PATH; undefined if it is not installed. */
export function findChromium(): string | undefined {
  const named = process.env['TEST_CHROMIUM']
  const places = (process.env['PATH'] ?? '').split(delimiter)
  const inPath = names.flatMap((name) => places.map((place) => join(place, name)))
  return [...(named ? [named] : []), ...inPath, onMacOS].find((file) => existsSync(file))
}

const withoutFeatures = [
  // Each is a page of the address bar's popup that Chromium loads for every new context, although headless it is never shown: half a
  // second of CPU time.
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'WebUIOmniboxPopup',
  // Of several lists, Chromium applies the last, so these are repeated from Playwright's own.
  'AimEnabled',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
]

const args = [`--disable-features=${withoutFeatures.join(',')}`]

/** Without a sandbox, which most containers do not support; it only loads our own pages. It ends with this process in any case. */
export async function launchChromium(): Promise<Browser> {
  // Only where a browser is used: the runner asks whether there is one.
  const { chromium } = await import('playwright-core')
  return chromium.launch({ executablePath: findChromium()!, chromiumSandbox: false, args })
}
