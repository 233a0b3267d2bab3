/**
 * `turnkeep apply` where something goes wrong: bad files, a run that is killed or cut off, a server that goes away, somebody else at work. What
 * was done stays, is told, and is not done again.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runCommand } from '../support/run-command.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { ApplyDesk } from './apply-desk.ts'
import { openGate } from './apply-gate.ts'
import type { Passage } from './apply-gate.ts'

let app: TestApp
let desk: ApplyDesk
before(async () => {
  app = await startTestApp()
  desk = new ApplyDesk(app)
})
after(async () => {
  desk[Symbol.dispose]()
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

/** Everything that was declared is there, once. */
async function assertOnce(owner: string): Promise<void> {
  const { id, balance_usd: balance } = await desk.one('/owners', owner)
  assert.equal(balance, '5.00000000')
  assert.equal((await desk.list(`/owners/${id}/ledger`)).length, 1)
  const one = await desk.one('/agents', `${owner} one`)
  await desk.one('/agents', `${owner} two`)
  await desk.one(`/agents/${one.id}/keys`, 'only')
  await desk.one(`/agents/${one.id}/documents`, 'Text')
}

describe('turnkeep apply: files that are wrong', () => {
  const refused = async (text: string): Promise<string> => {
    desk.write('agents.yaml', text)
    // No server is asked: there is none at this address.
    const ran = await desk.apply([], { TURNKEEP_PUBLIC_URL: 'http://127.0.0.1:1' })
    assert.deepEqual([ran.code, ran.stdout], [2, ''])
    assert.match(ran.stderr, /^turnkeep: nothing was applied:\n/)
    return ran.stderr.replaceAll(join(desk.folder, 'agents.yaml'), 'F')
  }

  test('each mistake is told with line, column and the nearest right word, all at once', async () => {
    const told = await refused(`
owner: []
owners:
  - name: Acme
    agents:
      - nmae: Support
        modle: demo/demo
        system_prompt: 12
        temperature: hot
        max_steps: 99
        enabled: yes
        knowledge: {topk: 3}
        keys: [{name: a, permision: full}]
        documents: {}
        tools:
          - {type: http, name: a b, description: d, parameters: {}, method: get, url: x, secrets: {K: canary-1}, headers: {X-Api-Key: canary-2}}
          - {name: now}
providers:
  - {name: openai, kind: openia, api_key: canary-3}
`)
    for (const line of [
      'F:2:1: a declaration has no field owner: did you mean owners?',
      'F:6:9: an agent has no field nmae: did you mean name?',
      'F:7:9: an agent has no field modle: did you mean model?',
      'F:8:9: system_prompt must be text, and is 12; in quotes it is one: "12"',
      'F:9:9: temperature must be a number from 0 to 2, and is hot',
      'F:10:9: max_steps must be a whole number from 1 to 32, and is 99',
      'F:11:9: enabled must be true or false, and is yes',
      'F:12:21: knowledge has no field topk: did you mean top_k?',
      'F:13:26: a key has no field permision: did you mean permission?',
      'F:14:9: documents must be a list, whose lines begin with "- ", and has fields',
      'F:16:26: name must be made of letters, digits, _ and -',
      'F:17:13: a tool needs a type: http, mcp or builtin',
      'F:19:20: kind must be one of openai, anthropic, google, openai-compatible: did you mean openai?',
    ])
      assert.ok(told.includes(`\n${line}\n`), `${line}\n${told}`)
    assert.match(told, /\nF:16:\d+: K: a secret never stands in the file/)
    assert.match(told, /\nF:16:\d+: X-Api-Key: a secret never stands in the file/)
    assert.match(told, /\nF:19:34: api_key never stands in the file, .* as api_key_env: OPENAI_API_KEY\n/)
    assert.ok(!told.includes('canary'))
  })

  test('names that stand twice, documents that are none, files that are not there', async () => {
    desk.write('empty.md', '')
    const told = await refused(`
providers: [{name: p, kind: openai, api_key_env: K}, {name: p, kind: openai, api_key_env: K}]
owners:
  - name: Acme
    agents:
      - {name: A, model: demo/demo, system_prompt: a, system_prompt_file: nope.txt}
      - name: A
        keys: [{name: k}, {name: k}]
        tools: [{type: builtin, name: now}, {type: builtin, name: now}]
        documents: [{file: nope.md}, {file: a.exe}, {text: foo}, {title: t}, {file: empty.md}, {title: u, text: a}, {title: u, text: b}]
  - name: Acme
`)
    for (const line of [
      /^F:2:54: the provider p stands here a second time, after .*F?.*:2$/m,
      /^F:6:55: give system_prompt or system_prompt_file, not both$/m,
      /^F:6:55: it cannot be read: ENOENT/m,
      /^F:7:9: the agent A stands here a second time/m,
      /^F:8:27: the key k stands here a second time/m,
      /^F:9:45: the tool now stands here a second time/m,
      /^F:10:22: it cannot be read: ENOENT/m,
      /^F:10:39: a\.exe is none of md, txt, html, pdf and docx$/m,
      /^F:10:53: a document of text needs a title$/m,
      /^F:10:66: a document is one of file, text and url$/m,
      /^F:10:79: empty\.md is empty$/m,
      /^F:10:\d+: the document u stands here a second time, after .*:10; give one of them another title$/m,
      /^F:11:5: the owner Acme stands here a second time/m,
    ])
      assert.match(told, line)
  })

  test('what is no YAML, or not one declaration, is told where', async () => {
    assert.match(await refused('owners:\n  - name: "x\n'), /\nF:3:1: Missing closing "quote/)
    assert.match(await refused('owners: []\nowners: []\n'), /\nF:2:\d: Map keys must be unique/)
    assert.match(await refused(''), /\nF:1:1: nothing is declared here/)
    assert.match(await refused('[]'), /\nF:1:1: the file must be fields, as "providers: …", and is a list/)
    assert.match(await refused('owners:\n'), /\nF:1:1: owners must be a list, .*, and has no value/)
    assert.match(await refused('owners: []\n---\nowners: []\n'), /\nF:2:1: .*multiple documents.*each a file of its own/)
    assert.match(await refused('owners: [{name: !!js/function x}]'), /\nF:1:17: Unresolved tag/)
    assert.match(await refused('owners: [{name: A, agents: [{name: B, tools: &a [*a]}]}]'), /a tool, as/)
    assert.match(await refused('owners: [{name: "a\\u001b[31m", x: 1}]'), /an owner has no field x/)
    const missing = await runCommand(['apply', '-f', join(desk.folder, 'nope.yaml')], desk.environment())
    assert.deepEqual([missing.code, /nope\.yaml cannot be read: ENOENT/.test(missing.stderr)], [2, true])
    assert.equal((await runCommand(['apply'], desk.environment())).code, 2)
  })

  test('what the server could not do is refused before anything is made: no model, no provider, no price, another kind', async () => {
    const before = await desk.traces()
    desk.write(
      'agents.yaml',
      `
providers: [{name: scripted, kind: openai}, {name: new, kind: openai}]
owners:
  - name: Nobody
    agents:
      - {name: A}
      - {name: B, model: nowhere/x, system_prompt: b}
      - {name: C, model: scripted/unheard-of, system_prompt: c}
`,
    )
    const ran = await desk.apply()
    assert.equal(ran.code, 1)
    for (const line of [
      /:2:30: the kind of scripted is openai-compatible and cannot change/,
      /:2:45: the provider new is to be made, which needs api_key_env/,
      /:6:9: the agent A is to be made, which needs a model/,
      /:6:9: the agent A is to be made, which needs a system_prompt/,
      /:7:19: there is no provider nowhere/,
      /:8:19: no price is known of scripted\/unheard-of: give the agent a price/,
    ])
      assert.match(ran.stderr, line)
    assert.deepEqual(await desk.traces(), before)
  })
})

describe('turnkeep apply: cut off in the middle', () => {
  test('killed after the first agent, the same command again makes the rest and nothing twice', async () => {
    const path = desk.write('agents.yaml', declared('Killed'))
    const reached = Promise.withResolvers<void>()
    const never = new Promise<never>(() => undefined)
    await using gate = await openGate(app.url, async ({ method, path: asked, count }): Promise<Passage> => {
      if (method !== 'POST' || asked !== '/agents' || count !== 1) return 'forward'
      reached.resolve()
      return never
    })
    const child = spawn(process.execPath, [command, 'apply', '-f', path], { env: desk.environment(gate.url), stdio: 'ignore' })
    await reached.promise
    child.kill('SIGKILL')
    await once(child, 'close')
    await desk.one('/agents', 'Killed one')
    assert.equal((await desk.list('/agents')).filter(({ name }) => name === 'Killed two').length, 0)
    const { stdout } = await desk.applied(declared('Killed'))
    assert.match(stdout, /^3 to make, 2 unchanged\.$/m)
    await assertOnce('Killed')
    assert.match((await desk.applied(declared('Killed'))).stdout, /^Nothing to change\. 5 unchanged/)
  })

  for (const [lost, path] of [
    ['Owner', '/owners'],
    ['Agent', '/agents'],
  ] as const)
    test(`an answer that is lost is told, and what it was of is not made twice: ${path}`, async () => {
      const name = `Lost ${lost}`
      desk.write('agents.yaml', declared(name))
      await using gate = await openGate(app.url, ({ method, path: asked, count }) =>
        method === 'POST' && asked === path && count === 0 ? 'lose' : 'forward',
      )
      const ran = await desk.apply([], { TURNKEEP_PUBLIC_URL: gate.url })
      assert.equal(ran.code, 1)
      assert.match(ran.stderr, /^turnkeep: stopped at the \w+ Lost .*: no answer from /)
      assert.match(ran.stderr, /\nIt may have been made all the same; nothing is made twice by running this again\.\n/)
      assert.match(ran.stderr, /\nNot done: the .* and [34] more\. The same command again goes on from here\.\n$/)
      await desk.applied(declared(name))
      await assertOnce(name)
    })

  test('the key whose answer is lost is there without its secret, which is told then and afterwards', async () => {
    desk.write('agents.yaml', declared('Lost key'))
    await using gate = await openGate(app.url, ({ method, path }) => (method === 'POST' && path.endsWith('/keys') ? 'lose' : 'forward'))
    const ran = await desk.apply([], { TURNKEEP_PUBLIC_URL: gate.url })
    assert.match(ran.stderr, /If it was made, its secret is lost: npx turnkeep key rotate makes another\./)
    assert.ok(!existsSync(join(desk.folder, 'Lost key.key')))
    const again = await desk.applied(declared('Lost key'))
    assert.match(again.stderr, /^The secret of the key only of Lost key one is not in .*\/Lost key\.key\./)
    await assertOnce('Lost key')
  })

  test('a server that goes away: what was done is told and stays, with --json too', async () => {
    desk.write('agents.yaml', declared('Gone'))
    await using gate = await openGate(app.url, ({ method, path }) =>
      method === 'POST' && path.endsWith('/documents') ? 'drop' : 'forward',
    )
    const ran = await desk.apply(['--json'], { TURNKEEP_PUBLIC_URL: gate.url })
    assert.equal(ran.code, 1)
    const { changes, applied } = JSON.parse(ran.stdout) as Json
    assert.equal(applied, false)
    assert.deepEqual(
      changes.filter(({ done }: Json) => !done).map(({ kind, name, owner, agent }: Json) => [kind, name, owner, agent]),
      [['document', 'Text', 'Gone', 'Gone one']],
    )
    assert.match(readFileSync(join(desk.folder, 'Gone.key'), 'utf8'), /^svc_live_\S+\n$/)
    assert.match((await desk.applied(declared('Gone'))).stdout, /^1 to make, 4 unchanged\.$/m)
    await assertOnce('Gone')
    const nobody = await desk.apply([], { TURNKEEP_PUBLIC_URL: 'http://127.0.0.1:1' })
    assert.deepEqual([nobody.code, nobody.stdout], [2, ''])
  })

  test('an agent that somebody changed after the difference was shown is left as it is', async () => {
    await desk.applied(declared('Moved'))
    const { id } = await desk.one('/agents', 'Moved one')
    desk.write('agents.yaml', declared('Moved').replace('system_prompt: one', 'system_prompt: another'))
    await using gate = await openGate(app.url, async ({ method, path }): Promise<Passage> => {
      if (method === 'GET' && path === `/agents/${id}`) await app.made('PATCH', `/agents/${id}`, { system_prompt: 'by hand' })
      return 'forward'
    })
    const ran = await desk.apply([], { TURNKEEP_PUBLIC_URL: gate.url })
    assert.equal(ran.code, 1)
    assert.match(ran.stderr, /somebody changed it meanwhile: it is at version 2 now, and the difference was shown of 1/)
    assert.deepEqual(
      [(await desk.one('/agents', 'Moved one')).system_prompt, (await desk.one('/agents', 'Moved one')).version],
      ['by hand', 2],
    )
  })

  test('two at once: the later one sees what the other has made and stops; the same again has nothing to do', async () => {
    desk.write('agents.yaml', declared('Both'))
    let other: Promise<unknown> | undefined
    await using gate = await openGate(app.url, async ({ method, path, count }): Promise<Passage> => {
      // After its plan, before its first look: the other one runs from its beginning to its end.
      if (method === 'GET' && path === '/owners' && count === 1) await (other = desk.applied(declared('Both')))
      return 'forward'
    })
    const ran = await desk.apply([], { TURNKEEP_PUBLIC_URL: gate.url })
    assert.ok(other)
    assert.equal(ran.code, 1)
    assert.match(ran.stderr, /^turnkeep: stopped at the owner Both: it is there now, as own_\w+: somebody made it meanwhile\n/)
    await assertOnce('Both')
    assert.match((await desk.applied(declared('Both'))).stdout, /^Nothing to change\. 5 unchanged/)
  })

  test('two at the very same moment may make two, which the API allows; the next run refuses to guess', async () => {
    desk.write('agents.yaml', 'owners: [{name: Moment}]')
    await using gate = await openGate(app.url, async ({ method, path }): Promise<Passage> => {
      if (method === 'POST' && path === '/owners') await desk.applied('owners: [{name: Moment}]')
      return 'forward'
    })
    assert.equal((await desk.apply([], { TURNKEEP_PUBLIC_URL: gate.url })).code, 0)
    const ran = await desk.apply()
    assert.deepEqual([ran.code, /the server has 2 of the owner Moment: own_\w+, own_\w+\./.test(ran.stderr)], [1, true])
  })
})
