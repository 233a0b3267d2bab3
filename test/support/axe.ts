/** The serious and critical accessibility findings of axe-core on a page, one line each. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

const source = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

type Finding = { id: string; impact: string; help: string; nodes: { target: string[]; failureSummary: string }[] }

/** `rules`: only these, by their IDs; by default all. */
export async function barriersOf(page: Page, rules?: string[]): Promise<string[]> {
  // Through the browser's protocol, because the page's policy forbids injected scripts. It remains until the document is another one.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(source)
  const options = JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) })
  const found = await page.evaluate<Finding[]>(`axe.run(document, ${options}).then(({ violations }) => violations)`)
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target.join(' ')}: ${failureSummary.replaceAll(/\s+/g, ' ')}`),
    )
}
