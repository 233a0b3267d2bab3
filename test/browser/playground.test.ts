/** The playground: the real pipeline with a streamed reply, and beside it what it did and what it cost. */
import assert from 'node:assert/strict'
import { openConsole } from '../support/browser.ts'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import { startToolServer } from '../support/tool-server.ts'

const tools = await startToolServer()
const inConsole = openConsole(async () => {
  const app = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address } })
  const close = app.close.bind(app)
  app.close = async () => {
    await close()
    await tools.close()
  }
  return app
})

inConsole('console: a reply is shown while it is generated, with its cost, tokens and times afterwards', async ({ page, app, open }) => {
  const held = gate()
  app.model.script(['The parcel ', held, 'is **on its way**.'])
  await open(`/playground/${app.caller.agentId}`)
  const box = page.getByLabel('Message', { exact: true })
  await box.fill('Where is my parcel?')
  await box.press('Enter')
  const log = page.getByRole('log', { name: 'Conversation' })
  await log.getByText('The parcel').waitFor()
  assert.equal(await page.getByText('on its way').count(), 0)
  held.open()
  await log.locator('strong', { hasText: 'on its way' }).waitFor()

  const turn = page.getByRole('region', { name: 'Turn details' })
  await turn.getByText('Completed').first().waitFor()
  const [entry] = await app.ledger()
  const charged = entry!.amount_usd.replace('-', '')
  // The settlement in the trace below has the same amount, once the trace has been read.
  await turn.getByLabel(`${charged} USD`).first().waitFor()
  await log.getByLabel(`${charged} USD`).waitFor()
  const { available_usd: available } = await app.owner()
  await page.getByLabel(`${available} USD`).waitFor()
  assert.match(await turn.innerText(), /Latency\s+\d/)
  assert.match(await turn.innerText(), /Time to first token\s+\d/)
  assert.equal(await box.inputValue(), '')
})

inConsole(
  'console: the trace of a reply is beside it, with the tool calls that it needed, and leads to the page of its turn',
  async ({ page, app, open }) => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } }
    const tool = {
      type: 'http',
      name: 'weather',
      description: 'Tells the weather.',
      parameters,
      method: 'GET',
      url: `${tools.baseUrl}/weather`,
    }
    const agent = await app.makeAgent(app.caller.ownerId, { tools: [tool] })
    tools.when('/weather', { body: 'drizzle since noon' })
    app.model.script([{ toolCall: { id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' } }], 'It drizzles.')
    await open(`/playground/${agent.id}`)
    await page.getByLabel('Message', { exact: true }).fill('How is the weather?')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    const trace = page.getByRole('region', { name: 'Turn details' }).getByRole('region', { name: 'Trace' })
    await trace.getByRole('option', { name: /^Tool weather/ }).click()
    await trace.getByText('drizzle since noon').waitFor()
    await trace.getByRole('region', { name: 'Arguments of weather' }).getByText('"city": "Oslo"').waitFor()
    // The trace is shown while the turn runs.
    await trace.getByRole('option', { name: /^Settlement/ }).waitFor()
    const names = await trace.getByRole('option').locator('[title]').allTextContents()
    assert.deepEqual(names, [
      'Attempt 1',
      'Admission',
      'Retrieval: no passages',
      'Model call 1',
      'Tool weather',
      'Model call 2',
      'Settlement',
    ])
    await trace.getByRole('link', { name: 'Open turn' }).click()
    await page.getByRole('heading', { name: 'How is the weather?', level: 1 }).waitFor()
    await page.getByRole('region', { name: 'Reply', exact: true }).getByText('It drizzles.').waitFor()
  },
)

inConsole('console: a failed message shows the reason, charges nothing, and can be edited', async ({ page, app, open }) => {
  app.model.script({ status: 400, body: { error: { message: 'out of order until Monday' } } })
  const before = (await app.owner()).balance_usd
  await open(`/playground/${app.caller.agentId}?user=unlucky`)
  await page.getByLabel('Message', { exact: true }).fill('Are you there?')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('alert').waitFor()
  await page
    .getByRole('region', { name: 'Turn details' })
    .getByText(/^the model server returned .*out of order until Monday/)
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Edit message' }).click()
  assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'Are you there?')
  assert.equal((await app.owner()).balance_usd, before)
})

inConsole('console: Cancel ends the turn: text so far is the reply, and without text nothing is charged', async ({ page, app, open }) => {
  const late = gate()
  app.model.script(['The parcel ', late, 'is lost'])
  await open(`/playground/${app.caller.agentId}?user=stopping`)
  const box = page.getByLabel('Message', { exact: true })
  const log = page.getByRole('log', { name: 'Conversation' })
  const cancel = page.getByRole('button', { name: 'Cancel', exact: true })
  await box.fill('Where is my parcel?')
  await box.press('Enter')
  await log.getByText('The parcel').waitFor()
  await cancel.click()
  await log.getByText('Cancelled. The text so far is the reply, and it is charged.').waitFor()
  await log.getByText('Cancelled', { exact: true }).waitFor()
  late.open()
  const turn = page.getByRole('region', { name: 'Turn details' })
  await turn.getByText('Cancelled', { exact: true }).first().waitFor()

  const early = gate()
  app.model.script([early, 'too late'])
  const before = (await app.owner()).balance_usd
  await box.fill('And now?')
  await box.press('Enter')
  await early.reached
  await cancel.click()
  await log.getByText('Cancelled before the agent had replied. Only finished tool calls that have a price were charged.').waitFor()
  // The charge, which the turn before had.
  await turn.getByText('None', { exact: true }).waitFor()
  assert.equal((await app.owner()).balance_usd, before)
  assert.equal((await app.made('GET', '/turns?status=cancelled')).data.length, 1)
  early.open()
  await page.getByRole('button', { name: 'Edit message' }).click()
  assert.equal(await box.inputValue(), 'And now?')
})

inConsole('console: a turn that runs in the conversation is shown live, and can be cancelled there', async ({ page, app, open }) => {
  const held = gate()
  app.model.script(['On its ', held, 'way'])
  await open(`/playground/${app.caller.agentId}?user=elsewhere`)
  const box = page.getByLabel('Message', { exact: true })
  await box.fill('Where is it?')
  await box.press('Enter')
  await held.reached
  // Leaving does not end the turn.
  await open('/agents')
  await open(`/playground/${app.caller.agentId}?user=elsewhere`)
  await page.getByRole('region', { name: 'Reply so far' }).getByText('On its').waitFor()
  await page.getByRole('button', { name: /^Cancel turn / }).click()
  await page.getByRole('status').filter({ hasText: 'cancelled. The text so far is the reply' }).waitFor()
  await page.getByRole('log', { name: 'Conversation' }).getByText('Cancelled', { exact: true }).waitFor()
  held.open()
})

inConsole('console: a version and a draft are tried without storing or charging anything', async ({ page, app, open }) => {
  const agent = await app.makeAgent(app.caller.ownerId)
  await app.made('PATCH', `/agents/${agent.id}`, { system_prompt: 'The second one.' })
  const before = (await app.owner()).balance_usd
  await open(`/playground/${agent.id}?user=tester&version=1&message=Hello%20there`)
  const box = page.getByLabel('Message', { exact: true })
  assert.equal(await box.inputValue(), 'Hello there')
  await page.getByText('Not stored and not charged. The provider bills the model calls.').waitFor()
  app.model.script('From the first.')
  await box.press('Control+Enter')
  const log = page.getByRole('log', { name: 'Conversation' })
  await log.getByText('From the first.').waitFor()
  assert.equal(app.model.calls.at(-1)!.messages[0]!.content, 'You are a test.')
  const details = page.getByRole('region', { name: 'Turn details' })
  await details.getByText('Cost, not charged').waitFor()
  await details.getByRole('option', { name: /^Model call 1/ }).waitFor()

  await page.getByRole('button', { name: 'Draft changes' }).click()
  await page.getByRole('dialog').getByLabel('System prompt').fill('A draft.')
  await page.keyboard.press('Escape')
  await page.mouse.click(5, 5)
  await page.getByRole('dialog').getByLabel('Max output tokens').fill('0')
  await page.getByRole('button', { name: 'Use draft' }).click()
  await page.getByText('Enter a whole number from 1 to 200,000.').waitFor()
  await page.getByRole('dialog').getByLabel('Max output tokens').fill('9')
  await page.getByRole('button', { name: 'Use draft' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const held = gate()
  app.model.script(['Shown while it is generated', held, 'late'], 'From the draft.')
  await box.fill('Again')
  await box.press('Enter')
  await log.getByText('Shown while it is generated').waitFor()
  await box.press('Escape')
  await log.getByText('Cancelled. Nothing was stored or charged.').waitFor()
  held.open()
  await log.getByRole('button', { name: 'Run again' }).last().click()
  await log.getByText('From the draft.').waitFor()
  const { messages, body } = app.model.calls.at(-1)!
  assert.deepEqual([messages.map(({ content }) => content), body['max_tokens']], [['A draft.', 'Again'], 9])
  await log.getByRole('button', { name: 'Edit message' }).last().click()
  assert.equal(await box.inputValue(), 'Again')
  app.model.script({ status: 400, body: { error: { message: 'out of order until Monday' } } })
  await box.press('Enter')
  await log
    .getByRole('alert')
    .getByText(/out of order until Monday/)
    .waitFor()
  assert.deepEqual((await app.made('GET', `/turns?agent_id=${agent.id}`)).data, [])
  assert.equal((await app.owner()).balance_usd, before)
  assert.equal((await app.made('GET', `/agents/${agent.id}`))['system_prompt'], 'The second one.')
})

inConsole(
  'console: two configurations reply to the same message with the same history, and only the turn is stored',
  async ({ page, app, open }) => {
    const agent = await app.makeAgent(app.caller.ownerId)
    await app.made('PATCH', `/agents/${agent.id}`, { system_prompt: 'The second one.' })
    await app.made('POST', `/agents/${agent.id}/playground`, { message: 'first' })
    await open(`/playground/${agent.id}`)
    await page.getByRole('button', { name: 'Compare', exact: true }).click()
    const b = page.getByRole('group', { name: 'Configuration B' })
    await b.getByRole('combobox', { name: 'Version of B' }).click()
    await page.getByRole('option', { name: 'Version 1', exact: true }).click()
    await b.getByText('Not stored').waitFor()
    await page.getByRole('group', { name: 'Configuration A' }).getByText('Stored and charged').waitFor()
    assert.match(page.url(), /[?&]compare=1(&|$)/)
    await page.getByRole('button', { name: 'Show differences' }).click()
    const changes = page.getByRole('dialog').getByRole('region', { name: 'Changes to system prompt' })
    assert.match(await changes.innerText(), /The second one\.[^]*You are a test\./)
    await page.keyboard.press('Escape')

    app.model.when(({ messages }) => messages[0]!.content === 'You are a test.', 'From the old one.')
    app.model.when(({ messages }) => messages[0]!.content === 'The second one.', 'From the new one.')
    await page.getByLabel('Message', { exact: true }).fill('which?')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    const ofA = page.getByRole('group', { name: 'Reply of A' })
    const ofB = page.getByRole('group', { name: 'Reply of B' })
    await ofA.getByText('From the new one.').waitFor()
    await ofB.getByText('From the old one.').waitFor()
    for (const side of [ofA, ofB]) {
      await side.getByRole('button', { name: 'Turn details' }).waitFor()
      assert.match(await side.innerText(), /\d+ (ms|s) · \$[\d.]+ · \d+ tokens/)
    }
    const sent = app.model.calls.slice(-2).map(({ messages }) => messages.slice(1).map(({ content }) => content))
    assert.deepEqual(sent[0], sent[1])
    assert.deepEqual([sent[0]!.length, sent[0]!.at(-1)], [3, 'which?'])
    await ofB.getByRole('button', { name: 'Turn details' }).click()
    await page.getByRole('region', { name: 'Turn details' }).getByText('B: Version 1', { exact: true }).waitFor()
    assert.equal((await app.made('GET', `/turns?agent_id=${agent.id}`)).data.length, 2)
  },
)

inConsole(
  'console: Compare starts with the current version on both sides: A is one stored turn, and B a preview with the same history',
  async ({ page, app, open }) => {
    const agent = await app.makeAgent(app.caller.ownerId, { system_prompt: 'The only one.' })
    await app.made('POST', `/agents/${agent.id}/playground`, { message: 'first' })
    await open(`/playground/${agent.id}`)
    await page.getByRole('button', { name: 'Compare', exact: true }).click()
    await page.getByRole('group', { name: 'Configuration A' }).getByText('Stored and charged').waitFor()
    await page.getByRole('group', { name: 'Configuration B' }).getByText('Not stored').waitFor()
    await page.getByLabel('Message', { exact: true }).fill('which?')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    for (const [letter, badge] of [
      ['A', 'Stored and charged'],
      ['B', 'Not stored'],
    ]) {
      const side = page.getByRole('group', { name: `Reply of ${letter}` })
      await side.getByText('You said: which?').waitFor()
      await side.getByText(badge!, { exact: true }).waitFor()
      await side.getByRole('button', { name: 'Turn details' }).waitFor()
    }
    const sent = app.model.calls.slice(-2).map(({ messages }) => messages.map(({ content }) => content))
    assert.deepEqual(sent[0], sent[1])
    const { data } = await app.made('GET', `/turns?agent_id=${agent.id}`)
    assert.deepEqual([data.length, (await app.ledger()).filter(({ request_id: id }) => id === data[0].request_id).length], [2, 1])
  },
)

for (const [name, viewport] of [
  ['a desktop', { width: 1440, height: 900 }],
  ['a phone', { width: 390, height: 844 }],
] as const)
  inConsole(
    `console: on ${name}, the composer stays in the window below a long conversation, and the page does not scroll`,
    async ({ page, app, open }) => {
      const user = `long-${viewport.width}`
      app.model.when(/^say much/, 'One of many lines.\n\n'.repeat(60))
      await app.made('POST', `/agents/${app.caller.agentId}/playground`, { message: 'say much', external_user_id: user })
      await open(`/playground/${app.caller.agentId}?user=${user}`)
      const log = page.getByRole('log', { name: 'Conversation' })
      await log.getByText('One of many lines.').last().waitFor()
      const box = (await page.getByLabel('Message', { exact: true }).boundingBox())!
      const send = (await page.getByRole('button', { name: 'Send', exact: true }).boundingBox())!
      for (const { x, y, width, height } of [box, send])
        assert.ok(x >= 0 && y >= 0 && x + width <= viewport.width && y + height <= viewport.height, JSON.stringify({ x, y, width, height }))
      const heights: number[] = await page.evaluate(
        '[document.documentElement.scrollHeight, innerHeight, document.documentElement.scrollWidth]',
      )
      assert.deepEqual(heights, [viewport.height, viewport.height, viewport.width])
      const [shown, all]: number[] = await log.evaluate((element: any) => [element.clientHeight, element.scrollHeight])
      assert.ok(shown! > viewport.height / 2 && all! > shown! + 100, `${shown} of ${all}`)
      if (viewport.width < 800) {
        await page.getByRole('button', { name: 'Details', exact: true }).click()
        await page.getByRole('dialog').getByRole('region', { name: 'Trace' }).waitFor()
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
      }
    },
    { context: { viewport } },
  )

inConsole(
  'console: a message that was not sent is there again after a visit of another page, until it is sent',
  async ({ page, app, open }) => {
    await open(`/playground/${app.caller.agentId}?user=kept-draft`)
    const box = page.getByLabel('Message', { exact: true })
    await box.fill('half a question')
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor()
    await page.goBack()
    await box.waitFor()
    assert.equal(await box.inputValue(), 'half a question')
    await box.press('Enter')
    await page.getByRole('log', { name: 'Conversation' }).getByRole('button', { name: 'Turn details' }).waitFor()
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor()
    await page.goBack()
    await box.waitFor()
    assert.equal(await box.inputValue(), '')
  },
)
