/** What `turnkeep apply` reads for a declaration: files in its folder, and variables that are not the service's own. And how much. */
import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startTestApp, adminToken } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { ApplyFixture } from './apply-fixture.ts'

let app: TestApp
let fixture: ApplyFixture
/** Beside the folder of the declaration. */
let others: ApplyFixture
before(async () => {
  app = await startTestApp()
  fixture = new ApplyFixture(app)
  others = new ApplyFixture(app)
  others.write('private.md', 'canary-private\n')
})
after(async () => {
  fixture[Symbol.dispose]()
  others[Symbol.dispose]()
  await app.close()
})

async function refused(text: string, environment: Record<string, string> = {}): Promise<string> {
  fixture.write('agents.yaml', text)
  // No request is made: there is no server at this address.
  const ran = await fixture.apply([], { TURNKEEP_PUBLIC_URL: 'http://127.0.0.1:1', ...environment })
  assert.deepEqual([ran.code, ran.stdout], [2, ''], ran.stderr)
  assert.ok(!ran.stderr.includes('canary'), ran.stderr)
  return ran.stderr.replaceAll(join(fixture.folder, 'agents.yaml'), 'F')
}

const agentWith = (field: string): string => `owners: [{name: W, agents: [{name: A, model: demo/demo, ${field}}]}]`

describe('turnkeep apply: files', () => {
  test('a path that leaves the folder of the declaration is refused: relative, absolute, through a link to a file or a folder', async () => {
    symlinkSync(join(others.folder, 'private.md'), join(fixture.folder, 'link.md'))
    symlinkSync(others.folder, join(fixture.folder, 'linked'))
    const outside = [`../${others.folder.split('/').at(-1)}/private.md`, join(others.folder, 'private.md'), 'link.md', 'linked/private.md']
    for (const path of [...outside, '../../../../../etc/passwd', '../none.md'])
      assert.match(
        await refused(agentWith(`system_prompt_file: ${path}`)),
        /\nF:1:\d+: \S+ is outside \S+: a declaration can use only files/,
      )
    for (const path of [...outside, '../none.md'])
      assert.match(await refused(agentWith(`system_prompt: a, documents: [{file: ${path}}]`)), /\nF:1:\d+: \S+ is outside /)
    for (const path of ['../a.key', join(others.folder, 'a.key'), 'linked/a.key', 'linked/private.md'])
      assert.match(await refused(agentWith(`system_prompt: a, keys: [{name: k, secret_file: ${path}}]`)), /\nF:1:\d+: \S+ is outside /)
  })

  test('a folder, and a prompt that is not text, are refused', async () => {
    mkdirSync(join(fixture.folder, 'folder.md'))
    writeFileSync(join(fixture.folder, 'bytes.txt'), Buffer.from([0x61, 0xff, 0x62]))
    writeFileSync(join(fixture.folder, 'long.txt'), 'é'.repeat(100_001))
    assert.match(await refused(agentWith('system_prompt_file: folder.md')), /\nF:1:\d+: folder\.md is not a file\n/)
    assert.match(await refused(agentWith('system_prompt: a, documents: [{file: folder.md}]')), /: folder\.md is not a file\n/)
    assert.match(await refused(agentWith('system_prompt_file: bytes.txt')), /: bytes\.txt is not text in UTF-8\n/)
    assert.match(await refused(agentWith('system_prompt_file: long.txt')), /: a system prompt can have at most 100,000 characters\n/)
  })

  test('the plan names every file that is read, also when nothing changes, with links resolved', async () => {
    mkdirSync(join(fixture.folder, 'texts'))
    fixture.write('texts/prompt.txt', 'Be kind.')
    fixture.write('guide.md', '# Guide')
    symlinkSync('texts/prompt.txt', join(fixture.folder, 'prompt.txt'))
    const declared = agentWith('system_prompt_file: prompt.txt, documents: [{file: guide.md}]')
    const named = new RegExp(`^Files read: ${join(fixture.folder, 'texts/prompt.txt')}, ${join(fixture.folder, 'guide.md')}\\.$`, 'm')
    assert.match((await fixture.applied(declared)).stdout, named)
    const again = await fixture.applied(declared)
    assert.match(again.stdout, /^No changes\./)
    assert.match(again.stdout, named)
  })
})

describe('turnkeep apply: secrets of the service', () => {
  const toolWith = (field: string): string =>
    agentWith(
      `system_prompt: a, tools: [{type: http, name: t, description: d, parameters: {}, method: GET, url: "https://stranger.example/x", ${field}}]`,
    )
  const own = ['TURNKEEP_ADMIN_TOKEN', 'TURNKEEP_ENCRYPTION_KEY', 'DATABASE_URL', 'REDIS_URL', 'PGPASSWORD', 'turnkeep_admin_token']

  test('no tool and no provider gets one: refused by name before anything is requested', async () => {
    for (const name of [...own, 'OPENAI_API_KEY', 'ANTHROPIC_API_KEY']) {
      const says = new RegExp(`\\nF:1:\\d+: ${name} is a secret of Turnkeep itself, which a tool must not get`)
      assert.match(await refused(toolWith(`headers: {X-Api-Key: {env: ${name}}}`)), says)
      assert.match(await refused(toolWith(`secrets: {k: {env: ${name}}}`)), says)
    }
    for (const name of own)
      assert.match(
        await refused(`providers: [{name: p, kind: openai-compatible, base_url: "https://stranger.example/v1", api_key_env: ${name}}]`),
        new RegExp(`\\nF:1:\\d+: ${name} is a secret of Turnkeep itself, which a provider must not get`),
      )
  })

  test('nor its value under another name, from the environment or from the data folder', async () => {
    const key = Buffer.alloc(32, 7).toString('base64')
    fixture.write('encryption.key', key)
    for (const value of [adminToken, `Bearer ${adminToken}`, key]) {
      fixture.write('agents.yaml', toolWith('secrets: {k: {env: COPIED}}'))
      const ran = await fixture.apply([], { COPIED: value })
      assert.deepEqual([ran.code, ran.stdout], [2, ''])
      assert.match(ran.stderr, /: COPIED contains TURNKEEP_(ADMIN_TOKEN|ENCRYPTION_KEY), a secret of Turnkeep itself: use another value\n$/)
    }
    assert.match(
      await refused(agentWith('system_prompt_file: encryption.key')),
      /: encryption\.key contains TURNKEEP_ENCRYPTION_KEY, a secret/,
    )
    fixture.write('env.md', `A=1\nTOKEN=${adminToken}\n`)
    assert.match(
      await refused(agentWith('system_prompt: a, documents: [{file: env.md}]')),
      /: env\.md contains TURNKEEP_ADMIN_TOKEN, a secret/,
    )
  })

  test('the plan names every variable that is read, what for and to which host its value goes', async () => {
    fixture.write(
      'agents.yaml',
      `${toolWith('headers: {X-Api-Key: {env: SHOP_HEADER}}, secrets: {k: {env: SHOP_KEY}}')}
providers: [{name: p, kind: openai-compatible, base_url: "http://127.0.0.1:9/v1", api_key_env: OPENAI_API_KEY}]`,
    )
    const environment = { SHOP_HEADER: 'canary-1', SHOP_KEY: 'canary-2', OPENAI_API_KEY: 'canary-3' }
    const { stdout } = await fixture.apply(['--dry-run'], environment)
    for (const line of [
      'Environment variable read: OPENAI_API_KEY, for the API key of the provider p, which is sent to http://127.0.0.1:9/v1.',
      'Environment variable read: SHOP_HEADER, for the header X-Api-Key of the tool t, which is sent to https://stranger.example.',
      'Environment variable read: SHOP_KEY, for the secret k of the tool t, which is sent to https://stranger.example.',
    ])
      assert.ok(stdout.includes(`\n${line}\n`), stdout)
    const { reads } = JSON.parse((await fixture.apply(['--dry-run', '--json'], environment)).stdout) as Json
    assert.deepEqual(reads.files, [])
    assert.deepEqual(
      reads.variables.map(({ name }: Json) => name),
      ['OPENAI_API_KEY', 'SHOP_HEADER', 'SHOP_KEY'],
    )
    assert.ok(!stdout.includes('canary'))
  })
})

describe('turnkeep apply: the size of a declaration', () => {
  const list = (count: number, item: string): string => `[${Array.from({ length: count }, () => item).join(', ')}]`

  test('aliases that expand to too much are refused, wherever they are', async () => {
    // A hundred owners of a hundred agents of a thousand documents each: 1.5 KB for ten million documents.
    const agents = `&a ${list(100, '*b')}`
    const owners = [
      `{name: W, agents: [&b {name: B, documents: &l [&d {url: x}, *d]}]}`,
      `{name: X, agents: ${agents}}`,
      ...Array.from({ length: 300 }, () => '{name: Y, agents: *a}'),
    ]
    assert.match(await refused(`owners: [${owners.join(', ')}]\n`), /\nF:1:1: the file uses aliases more than 10,000 times/)
    const wide = `&w ${list(3000, '{name: B}')}`
    const many = Array.from({ length: 100 }, (_, index) => `{name: M${index}, agents: *w}`).join(', ')
    assert.match(await refused(`owners: [{name: W, agents: ${wide}}, ${many}]\n`), /\nF:1:1: the file has more than 200,000 values/)
    // 49 KB of aliases, which the parser looks up one by one.
    assert.match(
      await refused(`x: &x [1]\nowners: ${list(9_900, '*x')}\nproviders: ${list(2_100, '*x')}\n`),
      /\nF:1:1: the file uses aliases more than 10,000 times/,
    )
    assert.match(await refused('owners: &a [{name: A, agents: [{name: B, tools: [*a, *a]}]}, *a, *a]'), /\nF:1:\d+: /)
  })

  test('a file that is too large or too deep is refused, and ten thousand duplicates are one list of a hundred', async () => {
    const large = await (async () => {
      fixture.write('agents.yaml', `# ${'x'.repeat(4 * 1024 * 1024)}\nowners: []\n`)
      return fixture.apply()
    })()
    assert.deepEqual([large.code, / is larger than 4 MiB: /.test(large.stderr)], [2, true])
    assert.match(await refused(`owners: ${'['.repeat(200_000)}`), /\nF:1:1: the file is nested too deeply\n/)
    const deep = await refused(
      agentWith(
        `system_prompt: a, tools: [{type: http, name: t, description: d, method: GET, url: x, parameters: ${'['.repeat(600)}${']'.repeat(600)}}]`,
      ),
    )
    assert.match(deep, /: parameters must be JSON: it is nested too deeply\n$/)
    const twice = await refused(Array.from({ length: 10_000 }, () => 'owners: []\n').join(''))
    assert.deepEqual([twice.match(/Map keys must be unique/g)?.length, twice.endsWith('\nand 9,899 more problems\n')], [100, true])
    assert.match(await refused(`? ${'x'.repeat(1_000_000)}\n: 1\n`), /\nF:1:3: a declaration has no field x{79}…: its fields are/)
  })
})
