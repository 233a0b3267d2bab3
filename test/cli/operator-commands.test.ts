/** `turnkeep operator` and `turnkeep token`, and a token as TURNKEEP_ADMIN_TOKEN of other commands. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

let app: TestApp
before(async () => {
  app = await startTestApp()
})
after(() => app.close())

const turnkeep = (args: string[], token = adminToken): Promise<Ran> =>
  runCommand(args, { TURNKEEP_PUBLIC_URL: app.url, TURNKEEP_ADMIN_TOKEN: token, TURNKEEP_DATA_DIR: app.folder })

async function json(...args: string[]): Promise<Json> {
  const ran = await turnkeep([...args, '--json'])
  assert.equal(ran.code, 0, ran.stderr)
  return JSON.parse(ran.stdout) as Json
}

test('operator invite prints the link alone on stdout; the other commands find the operator by email address', async () => {
  const invited = await turnkeep(
    'operator invite Ada@Acme.Example --name Ada --role viewer --permission conversations'.split(' ').concat('--owner', 'Test owner'),
  )
  assert.equal(invited.code, 0, invited.stderr)
  assert.match(invited.stdout, /^http:\/\/\S+\/console\/invitation#svc_invite_[\w-]{43}\n$/)
  assert.match(invited.stderr, /Link for this person \(shown only once, until 20/)
  const shown = await json('operator', 'show', 'ada@acme.example')
  assert.deepEqual(
    [shown['name'], shown['role'], shown['permissions'], shown['owner_id'], shown['state']],
    ['Ada', 'viewer', ['conversations'], app.caller.ownerId, 'invited'],
  )
  const link = await turnkeep(['operator', 'link', 'ada@acme.example'])
  assert.notEqual(link.stdout, invited.stdout)
  const changed = await json('operator', 'update', 'Ada', '--role', 'editor', '--permission', '--no-owner', '--no-enabled')
  assert.deepEqual([changed['role'], changed['permissions'], changed['owner_id'], changed['state']], ['editor', [], null, 'disabled'])
  const untouched = await json('operator', 'update', 'Ada', '--name', 'Ada L')
  assert.deepEqual([untouched['name'], untouched['role'], untouched['state']], ['Ada L', 'editor', 'disabled'])
  const list = await turnkeep(['operator', 'list'])
  assert.match(list.stdout, /ada@acme\.example +editor +disabled/)
  assert.equal((await turnkeep(['operator', 'sign-out', 'Ada L'])).code, 0)
  assert.match((await turnkeep(['operator', 'remove', 'Ada L'])).stderr, /Removed operator Ada L/)
  assert.deepEqual((await json('operator', 'list'))['data'], [])
})

test('token create prints the token alone on stdout; it works as TURNKEEP_ADMIN_TOKEN until it is revoked', async () => {
  const made = await turnkeep(['token', 'create', 'CI', '--role', 'viewer', '--agent', 'Test agent', '--expires', '2100-01-01'])
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, /^svc_admin_[\w-]{43}\n$/)
  const token = made.stdout.trim()
  assert.ok(!made.stderr.includes(token))
  assert.equal((await turnkeep(['agent', 'list'], token)).code, 0)
  const refused = await turnkeep(['agent', 'disable', app.caller.agentId], token)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /This needs the permission agents or billing\. \(forbidden, 403/)
  const shown = await json('token', 'show', 'CI')
  assert.deepEqual([shown['agent_id'], shown['owner_id'], shown['role']], [app.caller.agentId, app.caller.ownerId, 'viewer'])
  assert.notEqual(shown['last_used_at'], null)
  assert.equal((await turnkeep(['token', 'revoke', 'CI'])).code, 0)
  const late = await turnkeep(['agent', 'list'], token)
  assert.deepEqual([late.code, /unauthorized/.test(late.stderr)], [1, true])
  assert.match((await turnkeep(['token', 'list'])).stdout, /viewer/)
})

test('operator and token: mistakes are refused with what is accepted', async () => {
  const role = await turnkeep(['token', 'create', 'x', '--role', 'root'])
  assert.deepEqual([role.code, /Allowed choices are admin, editor, billing, viewer/.test(role.stderr)], [2, true], role.stderr)
  const unknown = await turnkeep(['operator', 'show', 'unknown@acme.example'])
  assert.deepEqual(
    [unknown.code, /no operators exist\. To create one: npx --no-install turnkeep operator invite --help/.test(unknown.stderr)],
    [1, true],
  )
})
