/** The page of a knowledge base: real files are added, by drop and by file chooser, and their content is found. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { openConsole } from '../support/browser.ts'
import { documentFile } from '../../dev/seed/fill.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'

const inConsole = openConsole(() => startTestApp())

/** As a user drops a file from another window. */
async function drop(page: Page, name: string): Promise<void> {
  const bytes = readFileSync(documentFile(name)).toString('base64')
  const dataTransfer = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer()
    const bytes = Uint8Array.from(atob('${bytes}'), (letter) => letter.charCodeAt(0))
    transfer.items.add(new File([bytes], '${name}'))
    return transfer
  })()`)
  const zone = page.getByRole('group', { name: 'Drop files here' })
  for (const type of ['dragenter', 'dragover', 'drop']) await zone.dispatchEvent(type, { dataTransfer })
}

inConsole('console: a dropped PDF is indexed, and its passage is found with the words highlighted', async ({ page, app, open }) => {
  await open(`/knowledge/${app.caller.agentId}`)
  await drop(page, 'handbook.pdf')
  const row = page.getByRole('row', { name: /handbook\.pdf/i })
  await row.getByText('Ready').waitFor()

  await page.getByLabel('Query').fill('What is the fee for a late return?')
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  const test = page.getByRole('region', { name: 'Retrieval test' })
  await test
    .getByText(/€0\.20 for each day/)
    .first()
    .waitFor()
  assert.ok((await test.locator('mark').allInnerTexts()).includes('fee'))
  await test.getByText('Sent to the model').first().waitFor()
})

inConsole('console: a document is opened from its row, and shows its chunks page by page', async ({ page, app, open }) => {
  const agent = await app.makeAgent(app.caller.ownerId)
  const path = `/agents/${agent.id}/documents`
  const text = Array.from({ length: 120 }, (_, index) => `## Part ${index}\n\n${`Sentence ${index}. `.repeat(60)}`).join('\n\n')
  const document = await app.made('POST', path, { title: 'Parts', text })
  let chunks = 0
  for (let status = ''; status !== 'ready';) ({ status, chunks } = await app.made('GET', `${path}/${document.id}`))
  await open(`/knowledge/${agent.id}`)
  await page.getByRole('link', { name: 'Parts' }).click()
  await page.getByRole('heading', { name: 'Parts', level: 1 }).waitFor()
  const list = page.getByRole('region', { name: 'Chunks' })
  await list.getByText('Showing the first 25').waitFor()
  await list.getByText('Part 0', { exact: true }).waitFor()
  assert.match(await list.innerText(), /Sentence 0\. Sentence 0\./)
  for (let shown = 50; shown < chunks; shown += 25) {
    await list.getByRole('button', { name: 'Load more' }).click()
    await list.getByText(`Showing the first ${shown}`).waitFor()
  }
  await list.getByRole('button', { name: 'Load more' }).click()
  await list.getByText(`Showing all ${chunks}`).waitFor()
  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link').last().click()
  await page.getByRole('row', { name: /Parts/ }).waitFor()
})

inConsole('console: a document shows what was not read of it, in its row and on its page', async ({ page, app, open }) => {
  const agent = await app.makeAgent(app.caller.ownerId)
  const path = `/agents/${agent.id}/documents`
  const form = new FormData()
  const html = '<h1>Map</h1><p>The pier is in the north.</p><img src="a.png"><img src="b.png">'
  form.set('file', new Blob([html], { type: 'text/html' }), 'map.html')
  const sent = await fetch(`${app.url}/admin/v1${path}`, { method: 'POST', headers: { authorization: `Bearer ${adminToken}` }, body: form })
  assert.equal(sent.status, 202)
  const { id } = (await sent.json()) as { id: string }
  for (let status = ''; status !== 'ready';) ({ status } = await app.made('GET', `${path}/${id}`))
  const warning = '2 pictures were not read. Write what they show as text.'
  await open(`/knowledge/${agent.id}`)
  await page
    .getByRole('row', { name: /map\.html/ })
    .getByText(warning)
    .waitFor()
  await page.getByRole('link', { name: 'map.html' }).click()
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByText(warning).waitFor()
})

inConsole(
  'console: a document that cannot be read shows why in its row, and disappears when it is deleted',
  async ({ page, app, open }) => {
    const agent = await app.makeAgent(app.caller.ownerId)
    await open(`/knowledge/${agent.id}`)
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Choose files' }).click()])
    await chooser.setFiles([documentFile('scanned.pdf'), documentFile('page.html')])
    await page.getByText('2 files uploaded').waitFor()
    const scanned = page.getByRole('row', { name: /scanned\.pdf/ })
    await scanned.getByText('Failed').waitFor()
    await scanned.getByText(/its pages are images or empty/).waitFor()
    await page.getByRole('button', { name: 'Delete scanned.pdf' }).click()
    await page.getByRole('button', { name: 'Delete document' }).click()
    await scanned.waitFor({ state: 'detached' })
  },
)

inConsole(
  "console: an unsupported file type is refused beside the file's name",
  async ({ page, app, open }) => {
    await open(`/knowledge/${app.caller.agentId}`)
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Choose files' }).click()])
    await chooser.setFiles([{ name: 'picture.png', mimeType: 'image/png', buffer: Buffer.from('89504e47', 'hex') }])
    const alert = page.getByRole('alert').filter({ hasText: 'Could not upload picture.png' })
    assert.match(await alert.innerText(), /pdf/)
  },
  { refusals: [422, 400] },
)

inConsole(
  'console: Escape or a click outside keeps the text of a document, and closes a dialog without input',
  async ({ page, app, open }) => {
    const agent = await app.makeAgent(app.caller.ownerId)
    await open(`/knowledge/${agent.id}`)
    const [dialog, add] = [page.getByRole('dialog'), page.getByRole('button', { name: 'Add text' })]
    const text = dialog.getByRole('textbox', { name: /^Text/ })
    const leave = async (): Promise<void> => {
      await page.keyboard.press('Escape')
      await page.mouse.click(5, 5)
    }
    await add.click()
    await text.waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await add.click()
    await text.fill('Typed for an hour.')
    await leave()
    await dialog.getByLabel('Title').fill('Kept')
    await leave()
    assert.equal(await text.inputValue(), 'Typed for an hour.')
    await dialog.getByRole('button', { name: 'Add text' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /Kept/ }).getByText('Ready').waitFor()
    await page.getByRole('button', { name: 'Replace Kept' }).click()
    await text.fill('Typed for two hours.')
    await leave()
    await dialog.getByRole('button', { name: 'Replace document' }).click()
    await dialog.waitFor({ state: 'detached' })
  },
)

inConsole(
  'console: several documents are deleted with one confirmation, and the list is filtered by status in its address',
  async ({ page, app, open }) => {
    const agent = await app.makeAgent(app.caller.ownerId)
    const path = `/agents/${agent.id}/documents`
    for (const title of ['One', 'Two', 'Three']) await app.made('POST', path, { title, text: `About ${title}.` })
    await app.made('POST', path, { title: 'Blank', text: '   ' })
    await open(`${path.replace('/documents', '')}/knowledge?status=failed`)
    await page.getByRole('row', { name: /Blank/ }).waitFor()
    assert.equal(await page.getByRole('row', { name: /One/ }).count(), 0)
    await page.getByRole('button', { name: 'Clear status' }).click()
    await page.getByRole('row', { name: /One/ }).getByText('Keyword search only').waitFor()
    assert.equal(new URL(page.url()).search, '')
    for (const title of ['One', 'Three']) await page.getByRole('checkbox', { name: `Select ${title}`, exact: true }).check()
    await page.getByRole('button', { name: 'Delete 2 selected' }).click()
    await page.getByRole('button', { name: 'Delete 2 documents' }).click()
    await page.getByText('2 documents deleted').waitFor()
    await page.getByRole('row', { name: /One/ }).waitFor({ state: 'detached' })
    const left = (await app.made('GET', path)).data.map(({ title }: { title: string }) => title)
    assert.deepEqual(left.toSorted(), ['Blank', 'Two'])
  },
)

inConsole(
  'console: a failed upload is retried, the end is summarized, and a search within a document marks its matches',
  async ({ page, app, open }) => {
    const agent = await app.makeAgent(app.caller.ownerId)
    await open(`/agents/${agent.id}/knowledge`)
    let refuses = true
    const busy = { error: { code: 'service_unavailable', message: 'Too many uploads.', request_id: 'r' } }
    await page.route('**/documents', (route) =>
      route.request().method() === 'POST' && refuses ? route.fulfill({ status: 503, json: busy }) : route.continue(),
    )
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Choose files' }).click()])
    const sections = Array.from({ length: 80 }, (_, part) => `## Part ${part}\n\n${`Sentence ${part}. `.repeat(60)}`).join('\n\n')
    const file = (name: string, text: string) => ({ name, mimeType: 'text/markdown', buffer: Buffer.from(text) })
    await chooser.setFiles([file('long.md', sections), file('short.md', '# Short\n\nA short text.')])
    await page.getByText('0 files uploaded, 2 failed.').waitFor()
    refuses = false
    await page.getByRole('button', { name: 'Retry 2 failed' }).click()
    await page.getByText('2 files uploaded.').waitFor()
    await page
      .getByRole('row', { name: /long\.md/ })
      .getByText('Ready')
      .waitFor()
    await page.getByRole('link', { name: 'long.md' }).click()
    await page.getByRole('textbox', { name: 'Find in this document' }).fill('sentence 77')
    const chunks = page.getByRole('region', { name: 'Chunks' })
    await chunks.getByText(/^Searched [\d,]+ chunks: \d+ contains? the text/).waitFor()
    assert.equal(await chunks.locator('mark').first().innerText(), 'Sentence 77')
    assert.match(page.url(), /\?find=sentence\+77$/)
  },
  { refusals: [503] },
)

inConsole('console: leaving with the command palette during an upload asks first', async ({ page, app, open }) => {
  const agent = await app.makeAgent(app.caller.ownerId)
  await open(`/agents/${agent.id}/knowledge`)
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/documents', async (route) => {
    if (route.request().method() === 'POST') await held
    await route.continue()
  })
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Choose files' }).click()])
  await chooser.setFiles([documentFile('page.html')])
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: /^Search pages/ }).fill('webhooks')
  await page.getByRole('option', { name: /^Webhooks/ }).click()
  const question = page.getByRole('dialog', { name: 'Leave during the upload?' })
  await question.getByRole('button', { name: 'Cancel' }).click()
  release()
  await page.getByText('1 file uploaded').waitFor()
})
