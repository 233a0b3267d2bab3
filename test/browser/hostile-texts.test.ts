/**
 * Texts of end users, models, tools, documents and operators are shown and never executed. Every visit checks that nothing ran, opened
 * a dialog, was blocked by the policy or left the origin; these tests check that the texts were there and created no element.
 */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { openConsole } from '../support/browser.ts'
import type { Visitor } from '../support/browser-visit.ts'
import { hostile, openHostileApp, hostileMarkdown } from '../support/hostile-app.ts'
import type { HostileApp } from '../support/hostile-app.ts'

const inConsole = openConsole(openHostileApp)

// An element that none of the console's pages has.
const made = `[...document.querySelectorAll('#root *, [data-portal] *')].filter((element) =>
  element.matches('script, iframe, object, embed, base, form[action], img:not([src^="/console/"]), [srcdoc]') ||
  [...element.attributes].some(({ name }) => /^on/i.test(name)) ||
  /^\\s*(javascript|data|vbscript|blob):/i.test(element.getAttribute('href') ?? '') ||
  // Of another origin only where a person follows it, in a tab of its own.
  (element.matches('a') && element.origin !== location.origin && !/noopener/.test(element.rel))
).map((element) => element.outerHTML.slice(0, 200))`

// Texts that could turn around what stands beside them: neither isolated nor alone in their line.
const turning = `[...document.querySelectorAll('#root *, [data-portal] *')].filter((element) =>
  [...element.childNodes].some((node) => node.nodeType === 3 && node.data.includes('\u202e')) &&
  !/isolate|plaintext/.test(getComputedStyle(element).unicodeBidi) && !element.matches('textarea')
).map((element) => element.outerHTML.slice(0, 200))`

async function assertHarmless(page: Page, where: string): Promise<void> {
  assert.deepEqual(await page.evaluate(turning), [], `a text turns around what stands beside it: ${where}`)
  assert.deepEqual(await page.evaluate(made), [], `an element was made of a text: ${where}`)
  assert.equal(await page.evaluate('window.__xss'), undefined, `a text was executed: ${where}`)
}

const isShown = async (page: Page): Promise<boolean> =>
  page.evaluate<boolean>(
    `(document.body.innerText + [...document.querySelectorAll('input, textarea')].map(({ value }) => value)).includes('__xss')`,
  )

inConsole(
  'console: hostile texts in every field are shown on every page, and executed on none',
  async ({ page, app, open }) => {
    const { agentId, ownerId } = app.app.caller
    const showing = [
      '/agents',
      `/agents/${agentId}`,
      `/agents/${agentId}/tools`,
      `/agents/${agentId}/versions`,
      `/knowledge/${agentId}`,
      `/keys/${agentId}`,
      '/conversations',
      `/conversations?external_user_id=${encodeURIComponent(hostile)}`,
      `/conversations/${app.conversationId}`,
      '/money',
      `/money/${ownerId}`,
      `/playground/${agentId}?user=${encodeURIComponent(hostile)}`,
    ]
    for (const path of showing) {
      await open(path)
      assert.ok(await isShown(page), `no hostile text is on ${path}`)
      await assertHarmless(page, path)
    }
    // Text in a URL counts too.
    const odd = encodeURIComponent(hostile)
    for (const path of [
      '/',
      '/usage',
      '/operations',
      '/providers',
      `/conversations?from=${odd}&agent_id=${odd}&key_id=${odd}`,
      `/usage?owner_id=${odd}&from=${odd}`,
    ]) {
      await open(path)
      await assertHarmless(page, path)
    }
  },
  { refusals: [400, 404, 422] },
)

inConsole(
  'console: invalid ids in a URL lead to a page that says so',
  async ({ page, app, open }) => {
    // With a slash, it is not one part of a path (`order.spelling`).
    assert.equal((await page.request.get(`${app.adminUrl}/console/agents/${encodeURIComponent(hostile)}`)).status(), 404)
    const odd = encodeURIComponent(hostile.replaceAll('/', ''))
    for (const path of [
      `/agents/${odd}`,
      `/conversations/${odd}`,
      `/money/${odd}`,
      `/keys/${odd}`,
      `/knowledge/${odd}`,
      `/playground/${odd}`,
    ]) {
      await open(path)
      await assertHarmless(page, path)
    }
  },
  { refusals: [400, 404, 422] },
)

inConsole(
  'console: hostile texts stay texts in dialogs, comparisons, searches and tool trials',
  async (visitor) => {
    const { page, app, open } = visitor
    const { agentId, ownerId } = app.app.caller

    await open(`/agents/${agentId}/tools`)
    await press(visitor, 'Test tool')
    await page.getByRole('button', { name: 'Call tool' }).click()
    await page.getByRole('region', { name: 'Result' }).getByText('__xss=1').first().waitFor()
    await assertHarmless(page, 'a tool that is tried')

    await open(`/agents/${agentId}/versions`)
    await press(visitor, 'Compare with version 1')
    await page.getByRole('region', { name: 'Version comparison' }).waitFor()
    await assertHarmless(page, 'a comparison')

    await open(`/knowledge/${agentId}`)
    await page.getByLabel('Query').fill('parcel')
    await press(visitor, 'Search')
    await page.locator('mark').first().waitFor()
    await assertHarmless(page, 'a search')
    await press(visitor, /^Delete \u202e</)
    await page.getByRole('dialog').waitFor()
    await assertHarmless(page, 'a document to delete')

    await open(`/keys/${agentId}`)
    await press(visitor, /^Revoke /)
    await page.getByRole('dialog').waitFor()
    await assertHarmless(page, 'a key to revoke')

    await open(`/money/${ownerId}`)
    await page.getByLabel('Amount (USD)').fill('1')
    await page.getByLabel('Note').fill(hostile)
    await press(visitor, 'Review entry')
    await page.getByRole('dialog').getByText('__xss').first().waitFor()
    await assertHarmless(page, 'an entry')

    await open('/providers')
    await press(visitor, 'Test scripted')
    await page.getByRole('combobox', { name: 'Model to test' }).fill(hostile.slice(0, 60))
    await press(visitor, 'Test provider')
    await page.getByRole('alert').getByText('__xss').first().waitFor()
    await assertHarmless(page, "a provider's own words")
  },
  { refusals: [422] },
)

inConsole('console: a hostile reply stays text while it is streamed', async ({ page, app, open, settled }) => {
  await open(`/playground/${app.app.caller.agentId}?user=another`)
  const box = page.getByLabel('Message', { exact: true })
  await box.fill(`say it again ${hostileMarkdown}`)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('region', { name: 'Turn details' }).getByText('Completed').first().waitFor()
  await settled()
  await assertHarmless(page, 'a streamed reply')
  const log = page.getByRole('log')
  await log.getByRole('link').first().waitFor()
  // The one URL that is a legitimate link.
  const links = await log.getByRole('link').evaluateAll((found: any[]): string[] => found.map(({ href }) => href))
  assert.ok(links.length > 0 && links.every((href) => href.startsWith('https://elsewhere.example/')), links.join('\n'))
})

const press = ({ page }: Visitor<HostileApp>, name: string | RegExp): Promise<void> => page.getByRole('button', { name }).first().click()
