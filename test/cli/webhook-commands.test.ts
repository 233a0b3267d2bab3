/** `turnkeep webhook`, webhooks in a declaration of `turnkeep apply`, and what `turnkeep doctor` says about them. */
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { startReceiver } from '../support/webhook-receiver.ts'
import { ApplyFixture } from './apply-fixture.ts'

let receiver: Awaited<ReturnType<typeof startReceiver>>
let app: TestApp
let fixture: ApplyFixture
before(async () => {
  receiver = await startReceiver()
  app = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: receiver.host } })
  fixture = new ApplyFixture(app)
})
after(async () => {
  await app.close()
  await receiver[Symbol.asyncDispose]()
})

const turnkeep = (...args: string[]): Promise<Ran> => runCommand(args, fixture.environment())

async function json(...args: string[]): Promise<Json> {
  const ran = await turnkeep(...args, '--json')
  assert.equal(ran.code, 0, ran.stderr)
  return JSON.parse(ran.stdout) as Json
}

test('webhook create prints the secret alone on stdout; the other commands find the webhook by its URL', async () => {
  const url = receiver.url('/orders')
  const made = await turnkeep('webhook', 'create', url, '--event', 'turn.completed', 'turn.failed', '--description', 'Orders')
  assert.equal(made.code, 0, made.stderr)
  const secret = made.stdout.trim()
  assert.match(secret, /^whsec_/)
  assert.ok(!made.stderr.includes(secret))
  const shown = await json('webhook', 'show', url)
  assert.deepEqual([shown['events'], shown['description'], shown['include_messages']], [['turn.completed', 'turn.failed'], 'Orders', false])
  assert.deepEqual(shown, (await app.made('GET', '/webhooks')).data[0])
  assert.equal((await json('webhook', 'update', 'Orders', '--event', '*'))['events'][0], '*')

  const reply = await app.chat('hello')
  const [one] = await receiver.got('/orders', 1)
  new Webhook(secret).verify(one!.body, one!.headers)
  const id = `evt_${reply.json.request_id}_turn_completed`
  for (let status = ''; status !== 'delivered';) status = (await json('webhook', 'deliveries', url)).data[0].status
  assert.match((await turnkeep('webhook', 'deliveries', url, '--status', 'delivered')).stdout, new RegExp(id))
  assert.equal((await json('webhook', 'retry', url, id))['id'], id)
  assert.equal((await receiver.got('/orders', 2))[1]!.id, id)
  const from = new Date(Date.now() - 60_000).toISOString()
  assert.deepEqual(await json('webhook', 'replay', url, '--from', from, '--to', '2100-01-01'), { deliveries: 1 })
  await receiver.got('/orders', 3)

  const rotated = (await turnkeep('webhook', 'rotate-secret', url, '--grace', '0')).stdout.trim()
  assert.notEqual(rotated, secret)
  assert.equal((await turnkeep('webhook', 'test', url)).code, 0)
  const tested = (await receiver.got('/orders', 4))[3]!
  new Webhook(rotated).verify(tested.body, tested.headers)
  receiver.on('/orders', (_, response) => void response.writeHead(500).end())
  const failed = await turnkeep('webhook', 'test', url)
  assert.equal(failed.code, 1)
  assert.match(failed.stdout, /the endpoint answered 500/)

  assert.equal((await turnkeep('webhook', 'delete', url)).code, 0)
  const unknown = await turnkeep('webhook', 'show', url)
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /no webhooks exist\. To create one: npx --no-install turnkeep webhook create --help/)
})

test('apply creates the webhooks of a declaration, writes their secrets to files, and changes only what differs', async () => {
  const declaration = (events: string): string =>
    `webhooks:\n  - url: ${receiver.url('/applied')}\n    events: ${events}\n    secret_file: hook.secret\n`
  const ran = await fixture.applied(declaration('[turn.completed]'), '--yes')
  const file = join(fixture.folder, 'hook.secret')
  const secret = readFileSync(file, 'utf8').trim()
  assert.match(secret, /^whsec_/)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.ok(!(ran.stdout + ran.stderr).includes(secret))
  const [webhook] = await fixture.list('/webhooks')
  assert.deepEqual([webhook!['url'], webhook!['events']], [receiver.url('/applied'), ['turn.completed']])
  const before = await fixture.traces()
  assert.match((await fixture.applied(declaration('[turn.completed]'), '--yes')).stdout, /No changes/)
  assert.deepEqual(await fixture.traces(), before)
  await fixture.applied(declaration('["*"]'), '--yes')
  assert.deepEqual(
    (await fixture.list('/webhooks')).map(({ id, events }) => [id, events]),
    [[webhook!['id'], ['*']]],
  )
  fixture.write('agents.yaml', `${declaration('[turn.ended]')}    secret: mine\n`)
  const refused = await fixture.apply(['--yes'])
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /agents\.yaml:3:.*events/)
  assert.match(refused.stderr, /secret is generated by the server/)
})

test('apply restricts a webhook to an owner and an agent by name, whether they exist or are created with it', async () => {
  const declaration = (webhook: string, owners = ''): string => `webhooks:\n  - url: ${receiver.url('/scoped')}\n${webhook}${owners}`
  const found = async (): Promise<Json> => (await fixture.list('/webhooks')).find(({ url }) => url === receiver.url('/scoped'))!
  const owners = `owners:\n  - name: Scoped Ltd\n    agents:\n      - name: Helper\n        model: scripted/test-model\n        price: {prompt_usd_per_million: "1", completion_usd_per_million: "1"}\n        system_prompt: Help.\n`
  for (const [given, message] of [
    ['    agent: Helper\n', /agents\.yaml:3:.*owner is required/],
    ['    owner: Unknown Ltd\n', /agents\.yaml:3:.*there is no owner named Unknown Ltd/],
  ] as const) {
    fixture.write('agents.yaml', declaration(given))
    const refused = await fixture.apply(['--yes'])
    assert.equal(refused.code, 2, refused.stderr)
    assert.match(refused.stderr, message)
  }
  assert.equal(await found(), undefined)
  await fixture.applied(declaration('    owner: Scoped Ltd\n    agent: Helper\n', owners), '--yes')
  const owner = (await fixture.list('/owners')).find(({ name }) => name === 'Scoped Ltd')
  const agent = (await fixture.list('/agents')).find(({ name }) => name === 'Helper')
  const made = await found()
  assert.deepEqual([made['owner_id'], made['agent_id']], [owner!['id'], agent!['id']])
  // Without the owners in the file, they are found on the server.
  const same = declaration('    owner: Scoped Ltd\n    agent: Helper\n')
  assert.match((await fixture.applied(same, '--yes')).stdout, /No changes/)
  await fixture.applied(declaration('    owner: Scoped Ltd\n    agent: null\n'), '--yes')
  const whole = await found()
  assert.deepEqual([whole['id'], whole['owner_id'], whole['agent_id']], [made['id'], owner!['id'], null])
  assert.match((await fixture.applied(declaration(''), '--yes')).stdout, /No changes/)
  assert.equal((await app.admin('DELETE', `/webhooks/${whole['id']}`)).status, 204)
})

test('doctor reports a webhook that was disabled, and deliveries that have failed', async () => {
  const findings = async (): Promise<Json[]> => {
    const { stdout } = await runCommand(['doctor', '--json', '--url', app.url], {
      ...fixture.environment(),
      TURNKEEP_ADMIN_TOKEN: adminToken,
    })
    return (JSON.parse(stdout) as Json)['checks'].filter(({ check }: Json) => check.startsWith('webhook '))
  }
  const [webhook] = await fixture.list('/webhooks')
  assert.deepEqual(
    (await findings()).map(({ status }) => status),
    ['ok'],
  )
  receiver.on('/applied', (_, response) => void response.writeHead(410).end())
  await app.moveClock(2)
  await app.chat('hello')
  for (let enabled = true; enabled;) enabled = (await app.made('GET', `/webhooks/${webhook!['id']}`))['enabled']
  const [disabled] = await findings()
  assert.deepEqual(
    [disabled!['status'], disabled!['says']],
    ['fail', 'disabled: the endpoint answered 410 Gone, which disables the webhook'],
  )
  assert.match(disabled!['fix'], /npx --no-install turnkeep webhook update whk_\w+ --enabled/)
  await app.made('PATCH', `/webhooks/${webhook!['id']}`, { enabled: true })
  const [failed] = await findings()
  assert.equal(failed!['status'], 'warn')
  assert.match(failed!['says'], /deliveries have failed .* 410 Gone/)
})
