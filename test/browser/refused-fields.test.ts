/** Every form of the console shows what the server refuses at the field that `error.param` names (`admin.param`). */
import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { openConsole } from '../support/browser.ts'
import { invite } from '../support/operators.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

const inConsole = openConsole(() => startTestApp())

/** The text that the field is described by as its error. */
async function errorOf(field: Locator): Promise<string> {
  const page = field.page()
  // Mantine marks a password in its own way.
  await field.and(page.locator('[aria-invalid="true"], [data-invalid="true"]')).waitFor()
  const ids = (await field.getAttribute('aria-describedby')) ?? ''
  return page.locator(`#${ids.split(' ').find((id) => id.endsWith('error'))}`).innerText()
}

/** `fill` opens the form, fills it and returns the field that is refused; `submit` is the name of its button. */
type Form = {
  title: string
  path: (app: TestApp) => string | Promise<string>
  fill: (page: Page, app: TestApp) => Promise<Locator>
  submit: string
  says: RegExp
  /** What was valid when the form was filled is no longer. */
  meanwhile?: (app: TestApp) => Promise<unknown>
}

const dialog = (page: Page): Locator => page.getByRole('dialog')

async function choose(page: Page, label: RegExp | string, option: string | RegExp): Promise<Locator> {
  const field = page.getByRole('combobox', { name: label })
  await field.click()
  await page.getByRole('option', { name: option }).click()
  return field
}

async function fillAgent(page: Page, provider: string, model: string): Promise<Locator> {
  await page.getByRole('textbox', { name: /^Name/ }).fill('Refused')
  await choose(page, /^Owner/, 'Test owner')
  const field = await choose(page, /^Provider/, provider)
  await page.getByRole('combobox', { name: /^Model ID/ }).fill(model)
  return field
}

let gone: Json = {}
const addProvider = async (app: TestApp): Promise<void> => {
  gone = await app.made('POST', '/providers', { name: 'gone', kind: 'openai', api_key: 'k' })
}
const removeProvider = (app: TestApp): Promise<unknown> => app.admin('DELETE', `/providers/${gone['id']}`)
/** NUL is in no text that the server stores, and the page does not look for it. */
const nul = 'a\u0000b'

const forms: Form[] = [
  {
    title: 'a new agent: the owner',
    path: () => '/agents/new',
    fill: async (page) => {
      await fillAgent(page, 'scripted', 'unlisted-1')
      await page.getByLabel(/^Prompt price/).fill('1')
      await page.getByLabel(/^Completion price/).fill('1')
      // No owner is ever deleted, so another one is sent.
      const change = (body: Json): string => JSON.stringify({ ...body, owner_id: 'own_unknown' })
      await page.route('**/admin/v1/agents', (route) => route.continue({ postData: change(route.request().postDataJSON() as Json) }), {
        times: 1,
      })
      return page.getByRole('combobox', { name: /^Owner/ })
    },
    submit: 'Create agent',
    says: /^The owner with this owner_id does not exist\.$/,
  },
  {
    title: 'a new agent: the provider',
    path: async (app) => (await addProvider(app), '/agents/new'),
    fill: (page) => fillAgent(page, 'gone', 'gpt-5.4-mini'),
    meanwhile: removeProvider,
    submit: 'Create agent',
    says: /^The provider of the model gone\/gpt-5\.4-mini does not exist\./,
  },
  {
    title: 'a new agent: the price',
    path: () => '/agents/new',
    fill: async (page) => {
      await fillAgent(page, 'scripted', 'unlisted-1')
      return page.getByLabel(/^Prompt price/)
    },
    submit: 'Create agent',
    says: /^price is required/,
  },
  {
    title: 'a new agent: the embedding model',
    path: () => '/agents/new',
    fill: async (page) => {
      await fillAgent(page, 'scripted', 'unlisted-1')
      const field = page.getByRole('combobox', { name: 'Embedding model' })
      await field.fill('unknown/embed')
      return field
    },
    submit: 'Create agent',
    says: /^The provider of the embedding model unknown\/embed does not exist\./,
  },
  {
    title: 'the settings of an agent: the embedding model',
    path: (app) => `/agents/${app.caller.agentId}`,
    fill: async (page) => {
      const field = page.getByRole('combobox', { name: 'Embedding model' })
      await field.fill('unknown/embed')
      return field
    },
    submit: 'Save',
    says: /^The provider of the embedding model/,
  },
  {
    title: 'an HTTP tool: the URL',
    path: (app) => `/agents/${app.caller.agentId}/tools`,
    fill: async (page) => {
      await page.getByRole('button', { name: 'Add HTTP tool' }).click()
      await dialog(page).getByLabel('Tool name').fill('look')
      await dialog(page).getByRole('textbox', { name: 'Description', exact: true }).fill('Looks.')
      const field = dialog(page).getByRole('textbox', { name: /^URL/ })
      await field.fill('https://{host}.example/')
      return field
    },
    submit: 'Add tool',
    says: /^The tool look: its url must not have a placeholder/,
  },
  {
    title: 'an MCP server: the URL',
    path: (app) => `/agents/${app.caller.agentId}/tools`,
    fill: async (page) => {
      await page.getByRole('button', { name: 'Add MCP server' }).click()
      await dialog(page).getByLabel('Server name').fill('shop')
      const field = dialog(page).getByRole('textbox', { name: /^URL/ })
      await field.fill('https://10.0.0.1/mcp')
      return field
    },
    submit: 'Add server',
    says: /^The tool shop: /,
  },
  {
    title: 'a provider: a name that is taken',
    path: () => '/providers',
    fill: async (page) => {
      await page.getByRole('button', { name: 'Add provider' }).first().click()
      await dialog(page)
        .getByLabel(/^Provider API key/)
        .fill('k')
      const field = dialog(page).getByLabel(/^Name/)
      await field.fill('scripted')
      return field
    },
    submit: 'Add provider',
    says: /^A provider named scripted already exists\.$/,
  },
  {
    title: 'a provider: the base URL',
    path: () => '/providers',
    fill: async (page) => {
      await page.getByRole('button', { name: 'Add provider' }).first().click()
      await dialog(page)
        .getByLabel(/^Provider API key/)
        .fill('k')
      const field = dialog(page).getByLabel(/^Base URL/)
      await field.fill('https://gateway.example/v1?api_key=1')
      return field
    },
    submit: 'Add provider',
    says: /^base_url must not contain a key/,
  },
  {
    title: 'a provider: the API key',
    path: () => '/providers',
    fill: async (page) => {
      await page.getByRole('button', { name: 'Add provider' }).first().click()
      const field = dialog(page).getByLabel(/^Provider API key/)
      await field.fill('two words')
      return field
    },
    submit: 'Add provider',
    says: /^api_key must be made up of visible ASCII/,
  },
  {
    title: 'a new owner: the name',
    path: () => '/money',
    fill: async (page) => {
      await page.getByRole('button', { name: 'Create owner' }).first().click()
      const field = dialog(page).getByLabel(/^Name/)
      await field.fill(nul)
      return field
    },
    submit: 'Create owner',
    says: /^name must not contain U\+0000/,
  },
  {
    title: 'an owner: the name',
    path: (app) => `/money/${app.caller.ownerId}`,
    fill: async (page) => {
      await page.getByRole('button', { name: 'Edit owner' }).click()
      const field = dialog(page).getByLabel(/^Name/)
      await field.fill(nul)
      return field
    },
    submit: 'Save',
    says: /^name must not contain U\+0000/,
  },
  {
    title: 'an API key: the name',
    path: (app) => `/keys/${app.caller.agentId}`,
    fill: async (page) => {
      await page.getByRole('button', { name: 'Create API key' }).click()
      const field = dialog(page).getByLabel('Name')
      await field.fill(nul)
      return field
    },
    submit: 'Create API key',
    says: /^name must not contain U\+0000/,
  },
  {
    title: 'an API key: the default end user',
    path: (app) => `/keys/${app.caller.agentId}`,
    fill: async (page) => {
      await page.getByRole('button', { name: 'Create API key' }).click()
      const field = dialog(page).getByLabel('Default end user ID')
      await field.fill(nul)
      return field
    },
    submit: 'Create API key',
    says: /^default_external_user_id must not contain U\+0000/,
  },
  {
    title: 'a webhook: the URL',
    path: () => '/webhooks',
    fill: async (page) => {
      await page.getByRole('button', { name: 'Create webhook' }).first().click()
      const field = dialog(page).getByLabel('URL')
      await field.fill('https://10.0.0.1/hook')
      return field
    },
    submit: 'Create webhook',
    says: /^url is not allowed/,
  },
  {
    title: 'a webhook: the agent',
    path: async (app) => {
      gone = await app.makeAgent(app.caller.ownerId, { name: 'Deleted agent' })
      return '/webhooks'
    },
    fill: async (page) => {
      await page.getByRole('button', { name: 'Create webhook' }).first().click()
      await dialog(page).getByLabel('URL').fill('https://shop.example/hook')
      return choose(page, 'Only this agent', 'Deleted agent')
    },
    meanwhile: (app) => app.admin('DELETE', `/agents/${gone['id']}`),
    submit: 'Create webhook',
    says: /^agent_id: this agent does not exist\.$/,
  },
  {
    title: 'a replay: the start of the range',
    path: async (app) =>
      `/webhooks/${(await app.made('POST', '/webhooks', { url: 'https://shop.example/replayed', events: ['*'] }))['id']}`,
    fill: async (page) => {
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('menuitem', { name: /^Replay/ }).click()
      const field = dialog(page).getByLabel('From')
      await field.fill('2031-01-02T10:00')
      return field
    },
    submit: 'Replay',
    says: /^from must be before to\.$/,
  },
  {
    title: 'an operator who is invited: an email address that is taken',
    path: async (app) => (await invite(app, { email: 'taken@acme.example', name: 'Taken', role: 'viewer' }), '/operators'),
    fill: async (page) => {
      await page.getByRole('button', { name: 'Invite operator' }).first().click()
      await dialog(page).getByLabel(/^Name/).fill('Again')
      const field = dialog(page).getByLabel(/^Email/)
      await field.fill('taken@acme.example')
      return field
    },
    submit: 'Create invitation',
    says: /^An operator with this email address exists\.$/,
  },
  {
    title: 'an operator: the name',
    path: async (app) => `/operators/${(await invite(app, { name: 'Renamed', role: 'viewer' })).id}`,
    fill: async (page) => {
      const field = page.getByRole('group', { name: 'Access' }).getByLabel(/^Name/)
      await field.fill(nul)
      return field
    },
    submit: 'Save changes',
    says: /^name must not contain U\+0000/,
  },
  {
    title: 'a token: the agent',
    path: async (app) => {
      gone = await app.makeAgent(app.caller.ownerId, { name: 'Deleted agent' })
      return '/tokens'
    },
    fill: async (page) => {
      await page.getByRole('button', { name: 'Create token' }).first().click()
      await dialog(page).getByLabel(/^Name/).fill('CI')
      return choose(page, 'Only this agent', 'Deleted agent')
    },
    meanwhile: (app) => app.admin('DELETE', `/agents/${gone['id']}`),
    submit: 'Create token',
    says: /^agent_id: this agent does not exist/,
  },
  {
    title: 'a spend limit: the amount',
    path: (app) => `/agents/${app.caller.agentId}/limits`,
    fill: async (page) => {
      const field = page.getByRole('textbox', { name: 'Limit (USD)' })
      await field.fill('9999999999')
      return field
    },
    submit: 'Set limit',
    says: /^usd must be a decimal string of at most a billion USD/,
  },
  {
    title: 'a document by its URL',
    path: (app) => `/agents/${app.caller.agentId}/knowledge`,
    fill: async (page) => {
      await page.getByRole('button', { name: 'Add URL' }).click()
      const field = dialog(page).getByRole('textbox', { name: /^URL/ })
      await field.fill('https://10.0.0.1/help')
      return field
    },
    submit: 'Add URL',
    says: /^url: /,
  },
  {
    title: 'a text: the title',
    path: (app) => `/agents/${app.caller.agentId}/knowledge`,
    fill: async (page) => {
      await page.getByRole('button', { name: 'Add text' }).click()
      await dialog(page).getByRole('textbox', { name: /^Text/ }).fill('x')
      const field = dialog(page).getByRole('textbox', { name: /^Title/ })
      await field.fill(nul)
      return field
    },
    submit: 'Add text',
    says: /^title must not contain U\+0000/,
  },
  {
    title: 'a retrieval test: the query',
    path: (app) => `/agents/${app.caller.agentId}/knowledge`,
    fill: async (page) => {
      const field = page.getByRole('textbox', { name: 'Query' })
      await field.fill(nul)
      return field
    },
    submit: 'Search',
    says: /^query must not contain U\+0000/,
  },
  {
    title: 'feedback: the comment',
    path: async (app) => {
      const requestId = (await app.chat('hello', { user: 'rated' })).json['request_id']
      await app.made('PUT', `/turns/${requestId}/feedback`, { rating: 'up' })
      return `/turns/${requestId}`
    },
    fill: async (page) => {
      await page.getByRole('button', { name: 'Edit feedback' }).click()
      const field = page.getByRole('group', { name: 'Feedback' }).getByLabel('Comment')
      await field.fill(nul)
      return field
    },
    submit: 'Save feedback',
    says: /^comment must not contain U\+0000/,
  },
]

for (const { title, path, fill, submit, says, meanwhile } of forms)
  inConsole(
    `console: admin.param: a refused field is marked in the form of ${title}`,
    async ({ page, app, open }) => {
      await open(await path(app))
      const field = await fill(page, app)
      await meanwhile?.(app)
      const button = (await dialog(page).count()) > 0 ? dialog(page).getByRole('button', { name: submit, exact: true }) : undefined
      await (button ?? page.getByRole('button', { name: submit, exact: true })).click()
      assert.match(await errorOf(field), says)
      // It is said once.
      assert.equal(await page.getByRole('alert').getByText(says).count(), 0)
    },
    { refusals: [409, 422] },
  )

inConsole(
  'console: a failure about no field of the form is shown below it',
  async ({ page, app, open }) => {
    const { id } = await app.made('POST', '/owners', { name: 'Debited' })
    await open(`/money/${id}`)
    await page.getByRole('button', { name: 'Edit owner' }).click()
    await dialog(page)
      .getByLabel(/^Low balance/)
      .fill('2')
    await page.route(`**/owners/${id}`, async (route) =>
      route.request().method() === 'PATCH' ? route.continue({ url: route.request().url().replace(id, 'own_unknown') }) : route.continue(),
    )
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await dialog(page).getByRole('alert').getByText('This owner does not exist.').waitFor()
    await page.unroute(`**/owners/${id}`)
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    assert.equal((await app.made('GET', `/owners/${id}`))['low_balance_usd'], '2.00000000')
    await page.getByRole('button', { name: 'Edit owner' }).click()
    await dialog(page)
      .getByLabel(/^Low balance/)
      .fill('')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    assert.equal((await app.made('GET', `/owners/${id}`))['low_balance_usd'], null)
  },
  { refusals: [404] },
)
