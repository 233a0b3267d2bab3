/** The Chromium of this machine, for tests that use a browser. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
// Not in PATH there.
const onMacOS = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'

/** The path of its program: TEST_CHROMIUM, or the first in PATH; undefined if it is not installed. */
export function findChromium(): string | undefined {
  const named = process.env['TEST_CHROMIUM']
  const places = (process.env['PATH'] ?? '').split(delimiter)
  const inPath = places.flatMap((place) => names.map((name) => join(place, name)))
  return [...(named ? [named] : []), ...inPath, onMacOS].find((file) => existsSync(file))
}
