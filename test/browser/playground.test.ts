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
  await turn.getByLabel(`${charged} USD`).waitFor()
  await log.getByLabel(`${charged} USD`).waitFor()
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
    const names = await trace.getByRole('option').locator('[title]').allTextContents()
    assert.deepEqual(names, ['Attempt 1', 'Admission', 'Retrieval', 'Model call 1', 'Tool weather', 'Model call 2', 'Settlement'])
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

inConsole('console: Stop cancels the turn: text so far is the reply, and without text nothing is charged', async ({ page, app, open }) => {
  const late = gate()
  app.model.script(['The parcel ', late, 'is lost'])
  await open(`/playground/${app.caller.agentId}?user=stopping`)
  const box = page.getByLabel('Message', { exact: true })
  const log = page.getByRole('log', { name: 'Conversation' })
  const stop = page.getByRole('button', { name: 'Stop', exact: true })
  await box.fill('Where is my parcel?')
  await box.press('Enter')
  await log.getByText('The parcel').waitFor()
  await stop.click()
  await log.getByText('Stopped. The text so far is the reply, and it is charged.').waitFor()
  await log.getByText('Incomplete', { exact: true }).waitFor()
  late.open()
  const turn = page.getByRole('region', { name: 'Turn details' })
  await turn.getByText('Incomplete', { exact: true }).waitFor()

  const early = gate()
  app.model.script([early, 'too late'])
  const before = (await app.owner()).balance_usd
  await box.fill('And now?')
  await box.press('Enter')
  await early.reached
  await stop.click()
  await log.getByText('Stopped before the agent had replied. Nothing was charged').waitFor()
  await turn.getByText('Cancelled', { exact: true }).first().waitFor()
  assert.equal((await app.owner()).balance_usd, before)
  assert.equal((await app.made('GET', '/turns?status=cancelled')).data.length, 1)
  early.open()
  await page.getByRole('button', { name: 'Edit message' }).click()
  assert.equal(await box.inputValue(), 'And now?')
})

inConsole('console: a turn that runs in the conversation is shown live, and can be stopped there', async ({ page, app, open }) => {
  const held = gate()
  app.model.script(['On its ', held, 'way'])
  await open(`/playground/${app.caller.agentId}?user=elsewhere`)
  const box = page.getByLabel('Message', { exact: true })
  await box.fill('Where is it?')
  await box.press('Enter')
  await held.reached
  // Leaving does not stop the turn.
  await open('/agents')
  await open(`/playground/${app.caller.agentId}?user=elsewhere`)
  await page.getByRole('region', { name: 'Reply so far' }).getByText('On its').waitFor()
  await page.getByRole('button', { name: /^Stop turn / }).click()
  await page.getByRole('status').filter({ hasText: 'stopped. The text so far is the reply' }).waitFor()
  await page.getByRole('log', { name: 'Conversation' }).getByText('Incomplete', { exact: true }).waitFor()
  held.open()
})
