/**
 * `turnkeep apply` when a run is cut off: killed, interrupted, a server or a file that disappears, concurrent changes. What was done stays,
 * is reported, and is not repeated; no secret is lost.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { ApplyFixture } from './apply-fixture.ts'
import { openGate } from './apply-gate.ts'
import type { Passage } from './apply-gate.ts'

let app: TestApp
let fixture: ApplyFixture
before(async () => {
  app = await startTestApp()
  fixture = new ApplyFixture(app)
})
after(async () => {
  fixture[Symbol.dispose]()
  await app.close()
})

const command = fileURLToPath(new URL('../../bin/turnkeep.js', import.meta.url))
const declared = (owner: string) => `
owners:
  - name: ${owner}
    balance_usd: 5
    agents:
      - name: ${owner} one
        model: demo/demo
        system_prompt: one
        keys: [{name: only, secret_file: ${owner}.key}]
        documents: [{title: Text, text: Some text.}]
      - {name: ${owner} two, model: demo/demo, system_prompt: two}
`

/** Everything in the declaration exists, exactly once. */
async function assertOnce(owner: string): Promise<void> {
  const { id, balance_usd: balance } = await fixture.one('/owners', owner)
  assert.equal(balance, '5.00000000')
  assert.equal((await fixture.list(`/owners/${id}/ledger`)).length, 1)
  const one = await fixture.one('/agents', `${owner} one`)
  await fixture.one('/agents', `${owner} two`)
  await fixture.one(`/agents/${one.id}/keys`, 'only')
  await fixture.one(`/agents/${one.id}/documents`, 'Text')
}

describe('turnkeep apply: interrupted in the middle', () => {
  test('after a kill during the first agent, the same command creates the rest and nothing twice', async () => {
    const path = fixture.write('agents.yaml', declared('Killed'))
    const reached = Promise.withResolvers<void>()
    const never = new Promise<never>(() => undefined)
    await using gate = await openGate(app.url, async ({ method, path: asked, count }): Promise<Passage> => {
      if (method !== 'POST' || asked !== '/agents' || count !== 1) return 'forward'
      reached.resolve()
      return never
    })
    const child = spawn(process.execPath, [command, 'apply', '-f', path], { env: fixture.environment(gate.url), stdio: 'ignore' })
    await reached.promise
    child.kill('SIGKILL')
    await once(child, 'close')
    await fixture.one('/agents', 'Killed one')
    assert.equal((await fixture.list('/agents')).filter(({ name }) => name === 'Killed two').length, 0)
    const { stdout } = await fixture.applied(declared('Killed'))
    assert.match(stdout, /^Plan: 3 to create, 2 unchanged\.$/m)
    await assertOnce('Killed')
    assert.match((await fixture.applied(declared('Killed'))).stdout, /^No changes\. 5 unchanged/)
  })

  for (const [lost, path] of [
    ['Owner', '/owners'],
    ['Agent', '/agents'],
  ] as const)
    test(`a lost response is reported, and its object is not created twice: ${path}`, async () => {
      const name = `Lost ${lost}`
      fixture.write('agents.yaml', declared(name))
      await using gate = await openGate(app.url, ({ method, path: asked, count }) =>
        method === 'POST' && asked === path && count === 0 ? 'lose' : 'forward',
      )
      const ran = await fixture.apply([], { TURNKEEP_PUBLIC_URL: gate.url })
      assert.equal(ran.code, 2)
      assert.match(ran.stderr, /^turnkeep: cannot create \w+ Lost .*: cannot reach /)
      assert.match(ran.stderr, /\nIt may have been created anyway; running the command again does not create it twice\.\n/)
      assert.match(ran.stderr, /\nNot applied: .* and [34] more\. Run the same command again to continue\.\n$/)
      await fixture.applied(declared(name))
      await assertOnce(name)
    })

  test('a key whose response was lost exists without its secret, which is reported then and afterwards', async () => {
    fixture.write('agents.yaml', declared('Lost key'))
    await using gate = await openGate(app.url, ({ method, path }) => (method === 'POST' && path.endsWith('/keys') ? 'lose' : 'forward'))
    const ran = await fixture.apply([], { TURNKEEP_PUBLIC_URL: gate.url })
    assert.match(ran.stderr, /If it was created, its secret is lost: create a new one with npx --no-install turnkeep key rotate\./)
    assert.ok(!existsSync(join(fixture.folder, 'Lost key.key')))
    const again = await fixture.applied(declared('Lost key'))
    assert.match(again.stderr, /^The secret of key only of Lost key one is not in .*\/Lost key\.key\./)
    await assertOnce('Lost key')
  })

  test('when the server goes away, the completed changes are reported and stay, with --json too', async () => {
    fixture.write('agents.yaml', declared('Gone'))
    await using gate = await openGate(app.url, ({ method, path }) =>
      method === 'POST' && path.endsWith('/documents') ? 'drop' : 'forward',
    )
    const ran = await fixture.apply(['--json'], { TURNKEEP_PUBLIC_URL: gate.url })
    assert.equal(ran.code, 2)
    const { changes, applied } = JSON.parse(ran.stdout) as Json
    assert.equal(applied, false)
    assert.deepEqual(
      changes.filter(({ done }: Json) => !done).map(({ kind, name, owner, agent }: Json) => [kind, name, owner, agent]),
      [['document', 'Text', 'Gone', 'Gone one']],
    )
    assert.match(readFileSync(join(fixture.folder, 'Gone.key'), 'utf8'), /^svc_live_\S+\n$/)
    assert.match((await fixture.applied(declared('Gone'))).stdout, /^Plan: 1 to create, 4 unchanged\.$/m)
    await assertOnce('Gone')
    const noOne = await fixture.apply([], { TURNKEEP_PUBLIC_URL: 'http://127.0.0.1:1' })
    assert.deepEqual([noOne.code, noOne.stdout], [2, ''])
  })

  test('an agent that was changed after the diff was shown is left unchanged', async () => {
    await fixture.applied(declared('Moved'))
    const { id } = await fixture.one('/agents', 'Moved one')
    fixture.write('agents.yaml', declared('Moved').replace('system_prompt: one', 'system_prompt: another'))
    await using gate = await openGate(app.url, async ({ method, path }): Promise<Passage> => {
      if (method === 'GET' && path === `/agents/${id}`) await app.made('PATCH', `/agents/${id}`, { system_prompt: 'by hand' })
      return 'forward'
    })
    const ran = await fixture.apply([], { TURNKEEP_PUBLIC_URL: gate.url })
    assert.equal(ran.code, 2)
    assert.match(ran.stderr, /it was changed after the plan was made: the plan is for version 1, and it is now at version 2/)
    assert.deepEqual(
      [(await fixture.one('/agents', 'Moved one')).system_prompt, (await fixture.one('/agents', 'Moved one')).version],
      ['by hand', 2],
    )
  })

  test("of two concurrent runs the later one sees the other's changes and stops; a repeated run has nothing to change", async () => {
    fixture.write('agents.yaml', declared('Both'))
    let other: Promise<unknown> | undefined
    await using gate = await openGate(app.url, async ({ method, path, count }): Promise<Passage> => {
      // After its plan, before its first read: the other run starts and ends.
      if (method === 'GET' && path === '/owners' && count === 1) await (other = fixture.applied(declared('Both')))
      return 'forward'
    })
    const ran = await fixture.apply([], { TURNKEEP_PUBLIC_URL: gate.url })
    assert.ok(other)
    assert.equal(ran.code, 2)
    assert.match(ran.stderr, /^turnkeep: cannot create owner Both: another client created it after the plan was made \(own_\w+\)\n/)
    await assertOnce('Both')
    assert.match((await fixture.applied(declared('Both'))).stdout, /^No changes\. 5 unchanged/)
  })

  test('two runs at the same moment may create two, which the API allows; the next run refuses to guess', async () => {
    fixture.write('agents.yaml', 'owners: [{name: Moment}]')
    await using gate = await openGate(app.url, async ({ method, path }): Promise<Passage> => {
      if (method === 'POST' && path === '/owners') await fixture.applied('owners: [{name: Moment}]')
      return 'forward'
    })
    assert.equal((await fixture.apply([], { TURNKEEP_PUBLIC_URL: gate.url })).code, 0)
    const ran = await fixture.apply()
    assert.deepEqual([ran.code, /the server has 2 owners named Moment: own_\w+, own_\w+\./.test(ran.stderr)], [2, true])
  })

  /** Of an existing agent: a key whose secret is in no file, and a document after it. */
  const withSecret = (owner: string): string => `
owners:
  - name: ${owner}
    agents:
      - name: ${owner} one
        model: demo/demo
        system_prompt: one
        keys: [{name: only}]
        documents: [{file: ${owner}.md}]
`
  const start = async (owner: string, url: string, ...flags: string[]) => {
    fixture.write(`${owner}.md`, '# A file')
    await fixture.applied(withSecret(owner).replace(/ {8}keys:[^]*/, ''))
    const path = fixture.write('agents.yaml', withSecret(owner))
    return spawn(process.execPath, [command, 'apply', '-f', path, ...flags], { env: fixture.environment(url), stdio: 'pipe' })
  }

  for (const flags of [[], ['--json']])
    test(`a file that disappears before it is sent is reported with exit code 2, and no secret is lost: ${flags.join('')}`, async () => {
      const owner = `Vanished${flags.length}`
      const file = fixture.write(`${owner}.md`, '# A file')
      fixture.write('agents.yaml', withSecret(owner))
      await using gate = await openGate(app.url, ({ method, path }) => {
        if (method === 'POST' && path.endsWith('/keys')) unlinkSync(file)
        return 'forward'
      })
      const ran = await fixture.apply(flags, { TURNKEEP_PUBLIC_URL: gate.url })
      assert.deepEqual([ran.code, /\n {4}at /.test(ran.stderr)], [2, false], ran.stderr)
      assert.match(ran.stderr, /^turnkeep: cannot create document Vanished\d\.md of .*: cannot read .*: ENOENT.*; it was not uploaded$/m)
      assert.match(ran.stderr, /\nNot applied: document .*\. Run the same command again to continue\.\n$/)
      assert.match(ran.stdout, /svc_live_/)
      if (flags.length === 0) return
      const { changes, applied } = JSON.parse(ran.stdout) as Json
      assert.deepEqual(
        [applied, ...changes.map(({ kind, done, api_key: secret }: Json) => [kind, done, secret !== undefined])],
        [false, ['owner', true, false], ['agent', true, false], ['key', true, true], ['document', false, false]],
      )
    })

  test('interrupted with --json, the secret of a created key has already been printed', async () => {
    const reached = Promise.withResolvers<void>()
    const never = new Promise<never>(() => undefined)
    await using gate = await openGate(app.url, ({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/documents')) return 'forward'
      reached.resolve()
      return never
    })
    const child = await start('Interrupted', gate.url, '--json')
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (piece: string) => (shown += piece))
    await reached.promise
    child.kill('SIGINT')
    await once(child, 'close')
    assert.match(shown, /"api_key":"svc_live_/)
  })

  for (const flags of [[], ['--json']])
    test(`stdout that is closed in the middle is reported with exit code 2, and a secret goes to stderr instead: ${flags.join('')}`, async () => {
      const owner = `Closed${flags.length}`
      await using gate = await openGate(app.url, async ({ method, path }): Promise<Passage> => {
        if (method === 'POST' && path.endsWith('/keys')) {
          child.stdout.destroy()
          await once(child.stdout, 'close')
        }
        return 'forward'
      })
      const child = await start(owner, gate.url, ...flags)
      child.stdout.resume()
      let reported = ''
      child.stderr.setEncoding('utf8').on('data', (piece: string) => (reported += piece))
      assert.equal((await once(child, 'close'))[0], 2)
      assert.match(reported, /^turnkeep: stopped midway: stdout was closed\. Run the same command again to continue\.$/m)
      assert.match(reported, /^svc_live_\S+$/m)
      const { id } = await fixture.one('/agents', `${owner} one`)
      assert.deepEqual(await fixture.list(`/agents/${id}/documents`), [])
    })

  test('a server that goes away during --wait is exit code 2 and says that all changes were applied', async () => {
    fixture.write('agents.yaml', declared('Waiting'))
    let sent = false
    await using gate = await openGate(app.url, ({ method, path }) => {
      if (method === 'GET' && sent && path.endsWith('/documents')) return 'drop'
      sent ||= method === 'POST' && path.endsWith('/documents')
      return 'forward'
    })
    const ran = await fixture.apply(['--wait'], { TURNKEEP_PUBLIC_URL: gate.url })
    assert.equal(ran.code, 2)
    assert.match(ran.stderr, /^turnkeep: all changes were applied, but cannot wait for the documents: cannot reach /m)
  })

  test('reads one page before each object it creates, and remembers what another run created', async () => {
    const names = Array.from({ length: 105 }, (_, index) => `Many ${index}`)
    fixture.write('agents.yaml', JSON.stringify({ owners: names.map((name) => ({ name })) }))
    let asked = 0
    await using gate = await openGate(app.url, async ({ method, path }): Promise<Passage> => {
      if (method === 'GET' && path === '/owners' && ++asked === 2) await app.made('POST', '/owners', { name: names.at(-1) })
      return 'forward'
    })
    const ran = await fixture.apply([], { TURNKEEP_PUBLIC_URL: gate.url })
    assert.match(ran.stderr, /^turnkeep: cannot create owner Many 104: another client created it after the plan was made \(own_\w+\)\n/)
    assert.deepEqual([ran.code, asked], [2, 1 + names.length])
  })
})
