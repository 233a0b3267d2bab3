/** The page of a turn: its trace, and its message run again with changes, beside the stored reply and without storing anything. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { openConsole } from '../support/browser.ts'
import type { Visitor } from '../support/browser-visit.ts'
import { hostile } from '../support/hostile-app.ts'
import { gate } from '../support/model-server.ts'
import type { Gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp } from '../support/test-app.ts'

const inConsole = openConsole(() => startTestApp({ agent: { system_prompt: `You are a test. ${hostile}`, temperature: 0.3 } }))

type Visit = Pick<Visitor<TestApp>, 'page' | 'app' | 'open'>

/** Opens the page of a turn whose model waits after its first words. */
async function openRunning({ page, app, open }: Visit, user: string): Promise<{ held: Gate; answer: Promise<Answer>; requestId: string }> {
  const held = gate()
  app.model.script(['First words. ', held, 'Last words.'])
  const answer = app.chat('Take your time', { user })
  await held.reached
  const [running] = (await app.made('GET', '/turns?status=running'))['data'] as [Json]
  const requestId = String(running['request_id'])
  await open(`/turns/${requestId}`)
  await page.getByRole('region', { name: 'Reply so far' }).getByText('First words.').waitFor()
  return { held, answer, requestId }
}
const usage = (prompt: number, completion: number) => ({
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
})

inConsole(
  'console: Run again starts with what the turn used, and shows the new reply beside the stored one, with tokens and cost',
  async ({ page, app, open }) => {
    app.model.script(['Within 30 days.', usage(1300, 30)])
    const { json } = await app.chat('May I return it?', { user: 'rerun' })
    const id = json['request_id']
    await open(`/conversations/${json['conversation_id']}`)
    const article = page.getByRole('article', { name: 'Reply', exact: true })
    await article.getByRole('button', { name: 'Trace' }).click()
    await page.getByRole('region', { name: 'Turn', exact: true }).getByRole('link', { name: 'Open turn' }).click()
    await page.getByRole('heading', { name: 'May I return it?', level: 1 }).waitFor()
    await page.getByRole('option', { name: /^Settlement/ }).waitFor()
    await page.getByRole('tab', { name: 'Run again' }).click()

    const form = page.getByRole('form', { name: 'Run again' })
    const [prompt, message] = [form.getByLabel('System prompt'), form.getByLabel('Message')]
    const model = form.getByRole('combobox', { name: 'Model' })
    const [temperature, tokens] = [form.getByLabel('Temperature'), form.getByLabel('Max output tokens')]
    const { version } = await app.made('GET', `/turns/${id}/trace`)
    const fields = [prompt, message, model, temperature, tokens]
    const values = (): Promise<string[]> => Promise.all(fields.map((field) => field.inputValue()))
    const used = [
      `You are a test. ${hostile}`,
      'May I return it?',
      'scripted/test-model',
      '0.3',
      version.max_output_tokens.toLocaleString('en-US'),
    ]
    assert.deepEqual(await values(), used)
    const stored = page.getByRole('region', { name: 'Stored reply' })
    const entries = await app.ledger()
    await stored.getByText('Within 30 days.').waitFor()
    await stored.getByText('scripted/test-model · 1,300 tokens in, 30 out').waitFor()
    await stored.getByLabel(`${entries[0]!.amount_usd.replace('-', '')} USD`).waitFor()
    await page.getByText('Nothing is stored in the conversation').waitFor()

    await prompt.fill('Be brief.')
    await message.fill('May I return boots?')
    await model.fill('scripted/other')
    await temperature.fill('')
    await tokens.fill('77')
    const held = gate()
    app.model.script(['**No.** ', held, hostile, usage(400, 2)])
    await form.getByRole('button', { name: 'Run again' }).click()
    const fresh = page.getByRole('region', { name: 'New reply' })
    await fresh.getByText('The agent is replying…').waitFor()
    held.open()
    await fresh.locator('strong', { hasText: 'No.' }).waitFor()
    await fresh.getByText('Not stored').waitFor()
    await fresh.getByText('scripted/other · 400 tokens in, 2 out').waitFor()
    await fresh.getByLabel('0.00006120 USD').waitFor()
    await fresh.getByText('at the price of the turn, not charged').waitFor()
    assert.equal(await page.locator('main img, main script').count(), 0, 'a text was rendered as HTML')
    const call = page.getByRole('region', { name: 'Trace of the new reply' }).getByRole('region', { name: 'Details of Model call 1' })
    await call.getByRole('region', { name: 'Message 1, system' }).getByText('Be brief.').waitFor()
    const { body, messages } = app.model.calls.at(-1)!
    assert.deepEqual([body['model'], body['temperature'], body['max_tokens']], ['other', undefined, 77])
    assert.deepEqual(
      messages.map(({ content }) => content),
      ['Be brief.', 'May I return boots?'],
    )
    await stored.getByText('Within 30 days.').waitFor()
    assert.equal((await app.made('GET', `/conversations/${json['conversation_id']}/messages`)).data.length, 2)
    assert.equal((await app.ledger()).length, entries.length)

    await form.getByRole('button', { name: 'Reset' }).click()
    assert.deepEqual(await values(), used)
  },
)

inConsole(
  'console: Run again shows what is wrong with a field, why the rerun has no reply, and that a running turn must end first',
  async ({ page, app, open }) => {
    app.model.script({ status: 401, body: { error: { message: 'no such key' } } })
    const { json } = await app.chat('hi', { user: 'wrong' })
    const id = json['error'].request_id
    await open(`/turns/${id}?view=again`)
    await page.getByRole('region', { name: 'Stored reply' }).getByText('The turn ended without a reply: released.').waitFor()
    const form = page.getByRole('form', { name: 'Run again' })
    const again = form.getByRole('button', { name: 'Run again' })
    await form.getByLabel('Temperature').fill('3')
    await again.click()
    await form.getByText(/^temperature /).waitFor()
    await form.getByRole('button', { name: 'Reset' }).click()
    await form.getByLabel('Max output tokens').fill('')
    await again.click()
    await form.getByText('Enter a whole number.').waitFor()
    await form.getByRole('button', { name: 'Reset' }).click()
    await form.getByRole('combobox', { name: 'Model' }).fill('gone/model')
    await again.click()
    await page.getByText('The provider of the model gone/model does not exist.').waitFor()

    const held = gate()
    app.model.script([held, 'x'])
    const answer = app.chat('slow', { user: 'slow' })
    await held.reached
    const [running] = (await app.made('GET', '/turns?status=running'))['data'] as [Json]
    await open(`/turns/${running['request_id']}?view=again`)
    await page.getByText('The turn is still running. It can be run again when it has ended.').waitFor()
    held.open()
    await answer
    await page.getByRole('form', { name: 'Run again' }).waitFor()
    await page.getByRole('region', { name: 'Stored reply' }).getByText('x', { exact: true }).waitFor()
  },
  { refusals: [422] },
)

inConsole('console: a span is selected with the arrow keys, and is in the address', async ({ page, app, open }) => {
  app.model.script(['Hello.', usage(10, 2)])
  const { json } = await app.chat('A span', { user: 'keys' })
  await open(`/turns/${json['request_id']}`)
  const spans = page.getByRole('listbox', { name: 'Spans' })
  const selected = async (name: RegExp): Promise<void> => spans.getByRole('option', { name, selected: true }).waitFor()
  await selected(/^Model call 1/)
  await spans.focus()
  for (const [key, name] of [
    ['ArrowDown', 'Settlement'],
    ['Home', 'Attempt 1'],
    ['ArrowUp', 'Attempt 1'],
    ['ArrowDown', 'Admission'],
    ['End', 'Settlement'],
  ] as const) {
    await page.keyboard.press(key)
    await selected(new RegExp(`^${name}`))
    await page.getByRole('region', { name: `Details of ${name}` }).waitFor()
  }
  assert.match(page.url(), /\?span=1\.1\.settlement$/)
  await page.reload()
  await selected(/^Settlement/)
})

inConsole(
  'console: the page of a failed turn says why, what to do, and what the caller saw; the failed span is selected',
  async ({ page, app, open }) => {
    app.model.script({ status: 401, body: { error: { message: 'no such key' } } })
    const { status, json } = await app.chat('hi', { user: 'failing' })
    await open(`/turns/${json['error'].request_id}`)
    const cause = page.getByRole('region', { name: 'Cause' })
    await cause.getByText('provider_401', { exact: true }).waitFor()
    await cause.getByText(/no such key/).waitFor()
    await cause.getByText(`HTTP ${status} ${json['error'].code}`).waitFor()
    await cause.getByRole('link', { name: 'Test provider' }).waitFor()
    await page.getByRole('option', { name: /^Model call 1/, selected: true }).waitFor()
    await page
      .getByRole('region', { name: 'Details of Model call 1' })
      .getByText(/no such key/)
      .waitFor()
  },
)

inConsole('console: the page of a running turn follows it to its end by itself, and can cancel it', async ({ page, app, open }) => {
  const { held, answer } = await openRunning({ page, app, open }, 'live')
  await page.getByRole('option', { name: /^Model call 1.* running$/, selected: true }).waitFor()
  await page.getByRole('button', { name: /^Cancel turn/ }).waitFor()
  held.open()
  await answer
  await page.getByRole('region', { name: 'Reply', exact: true }).getByText('First words. Last words.').waitFor()
  await page.getByRole('option', { name: /^Settlement/ }).waitFor()
  await page.getByText('Completed', { exact: true }).first().waitFor()
  assert.equal(await page.getByRole('button', { name: /^Cancel turn/ }).count(), 0)
})

inConsole(
  'console: the trace of a turn that was cancelled after some text shows no failure, and says what is the reply and what was charged',
  async ({ page, app, open }) => {
    const { held, answer, requestId } = await openRunning({ page, app, open }, 'cancelled')
    await page.getByRole('button', { name: /^Cancel turn/ }).click()
    await answer
    held.open()
    const { usage: charged } = await app.made('GET', `/turns/${requestId}`)
    const cause = page.getByRole('region', { name: 'Cause' })
    await cause.getByText('The turn was cancelled. The text so far is the reply, marked as incomplete').waitFor()
    await cause.getByLabel(`${charged.charged_usd} USD`).waitFor()
    await cause.getByText('HTTP 200 with the reply').waitFor()
    await page.locator('dl[aria-label=Turn]').getByText('Cancelled', { exact: true }).waitFor()
    await page.getByRole('option', { name: /^Attempt 1.* cancelled$/ }).waitFor()
    await page.getByRole('option', { name: /^Model call 1.* cancelled$/, selected: true }).waitFor()
    const details = page.getByRole('region', { name: 'Details of Model call 1' })
    await details.getByText('The turn was cancelled during this call.').waitFor()
    await details.getByText('Cancelled', { exact: true }).waitFor()
    assert.equal(await page.locator('[data-status=failed]').count(), 0)
  },
)

inConsole(
  'console: two turns are compared on one scale, with what differs',
  async ({ page, app, open }) => {
    app.model.script(['Within 30 days.', usage(1300, 30)], ['Within 14 days.', usage(900, 30)])
    const first = await app.chat('May I return it?', { user: 'compared' })
    const second = await app.chat('May I return boots?', { user: 'compared' })
    const [a, b] = [first.json['request_id'], second.json['request_id']]
    await open(`/turns/${a}`)
    await page.getByRole('tab', { name: 'Compare' }).click()
    await page.getByRole('button', { name: `Compare with ${b}` }).click()
    assert.ok(page.url().endsWith(`/turns/${a}?compare=${b}`))
    const row = page.getByRole('region', { name: 'Differences' }).getByRole('row', { name: /^Tokens/ })
    await row.getByText('900 in, 30 out').waitFor()
    assert.deepEqual(await row.getByRole('cell').allTextContents(), ['1,300 in, 30 out', '900 in, 30 out'])
    await row.getByText('(differs)').waitFor({ state: 'attached' })
    const reply = page.getByRole('region', { name: 'Reply, from A to B' })
    assert.equal(await reply.locator('del').innerText(), 'Removed:\n−\nWithin 30 days.')
    for (const letter of ['A', 'B'])
      await page
        .getByRole('listbox', { name: `Spans of ${letter}` })
        .getByRole('option')
        .first()
        .waitFor()
    await page
      .getByRole('listbox', { name: 'Spans of A' })
      .getByRole('option', { name: /^Model call 1/ })
      .click()
    assert.equal(await page.getByRole('region', { name: 'Details of Model call 1' }).count(), 2)

    await open(`/turns/${a}?compare=00000000-0000-7000-8000-000000000000`)
    await page.getByText('Could not load the other turn').waitFor()
  },
  { refusals: [404] },
)

inConsole(
  'console: Copy as curl copies a command that bash runs as the same request, whatever the message contains',
  async ({ page, app, open, context }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const message = `It's "$(touch /tmp/owned)" \`x\` ${hostile}`
    app.model.script('one', 'two')
    const { json } = await app.chat(message, { user: 'curl' })
    await open(`/turns/${json['request_id']}`)
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByText('Copied', { exact: true }).waitFor()
    const command = await page.evaluate<string>('navigator.clipboard.readText()')
    const { stdout } = await promisify(execFile)('bash', ['-c', command], { env: { ...process.env, TURNKEEP_API_KEY: app.caller.apiKey } })
    assert.equal(JSON.parse(stdout).message.content, 'two')
    assert.equal(app.model.calls.at(-1)!.messages.at(-1)!.content, message)
    const link = page.getByRole('link', { name: 'Open in playground' })
    const address = new URL((await link.getAttribute('href'))!, page.url())
    assert.deepEqual(
      [...address.searchParams],
      [
        ['user', 'curl'],
        ['message', message],
      ],
    )
  },
  { context: {} },
)

inConsole('console: of a very long reply the start is shown, and all of it on request', async ({ page, app, open }) => {
  const long = `**Start.** ${'A word of many. '.repeat(1_000)}The end.`
  app.model.script([long, usage(10, 4_000)])
  const { json } = await app.chat('Tell me everything', { user: 'long' })
  await open(`/turns/${json['request_id']}`)
  const reply = page.getByRole('region', { name: 'Reply', exact: true })
  await reply.locator('strong', { hasText: 'Start.' }).waitFor()
  assert.doesNotMatch(await reply.innerText(), /The end\./)
  await reply.getByRole('button', { name: `Show all ${long.length.toLocaleString('en-US')} characters as text` }).click()
  assert.equal(await reply.textContent(), long)
})
