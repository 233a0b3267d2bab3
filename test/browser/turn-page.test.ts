/** The page of a turn: its trace, and its message run again with changes, beside the stored reply and without storing anything. */
import assert from 'node:assert/strict'
import { openConsole } from '../support/browser.ts'
import { hostile } from '../support/hostile-app.ts'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

const inConsole = openConsole(() => startTestApp({ agent: { system_prompt: `You are a test. ${hostile}`, temperature: 0.3 } }))
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
    await page.getByRole('heading', { name: 'Turn', level: 1 }).waitFor()
    await page.getByRole('region', { name: 'Trace', exact: true }).getByRole('listitem', { name: 'Settlement' }).waitFor()

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
    const call = page.getByRole('region', { name: 'Trace of the new reply' }).getByRole('listitem', { name: 'Model call, step 1' })
    await call.getByText(/^Prompt/).click()
    await call.getByRole('region', { name: 'Message 1 of step 1, system' }).getByText('Be brief.').waitFor()
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
    await open(`/turns/${id}`)
    await page.getByRole('region', { name: 'Stored reply' }).getByText('The turn ended without a reply: released.').waitFor()
    const form = page.getByRole('form', { name: 'Run again' })
    const again = form.getByRole('button', { name: 'Run again' })
    await form.getByLabel('Temperature').fill('3')
    await again.click()
    await form.getByText(/^overrides\.temperature /).waitFor()
    await form.getByRole('button', { name: 'Reset' }).click()
    await form.getByLabel('Max output tokens').fill('')
    await again.click()
    await form.getByText('Enter a whole number.').waitFor()
    await form.getByRole('button', { name: 'Reset' }).click()
    await form.getByRole('combobox', { name: 'Model' }).fill('gone/model')
    await again.click()
    await page
      .getByRole('region', { name: 'New reply' })
      .getByText(/^No reply: provider_not_found · /)
      .waitFor()

    const held = gate()
    app.model.script([held, 'x'])
    const answer = app.chat('slow', { user: 'slow' })
    await held.reached
    const [running] = (await app.made('GET', '/turns?status=running'))['data'] as [Json]
    await open(`/turns/${running['request_id']}`)
    await page.getByText('The turn is still running. It can be run again when it has ended.').waitFor()
    held.open()
    await answer
    await page.getByRole('form', { name: 'Run again' }).waitFor()
    await page.getByRole('region', { name: 'Stored reply' }).getByText('x', { exact: true }).waitFor()
  },
  { refusals: [422] },
)
