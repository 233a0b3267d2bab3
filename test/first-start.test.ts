/**
 * First start: what a new user sees after `npm start`, the command to paste, and that nothing is created twice, also when a start is killed
 * half way. Secrets are in files with mode 0600 and are not shown.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { monotonicFactory } from 'ulid'
import { createAdmin } from '../src/admin/admin.ts'
import { openDataFolder, readSecrets } from '../src/config/data-folder.ts'
import { makeDemo } from '../src/process/first-start.ts'
import type { Demo, FirstStartOptions } from '../src/process/first-start.ts'
import { createSealer } from '../src/config/secrets.ts'
import { startLines } from '../src/process/start-lines.ts'
import { verify } from '../src/store/queries/invariants.ts'
import { openSqliteStore, readSnapshot } from '../src/store/sqlite/sqlite.ts'
import { agentModules } from './support/agent-modules.ts'
import { makeDatabase, noPostgres, withClient } from './support/postgres-server.ts'
import { showServer } from './support/shown-server.ts'
import type { ShownServer } from './support/shown-server.ts'

function ownFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-first-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function serverOf(t: TestContext, environment: Record<string, string>): Promise<ShownServer> {
  const server = showServer(environment)
  t.after(() => server.stop())
  await server.ready()
  return server
}

/** What is stored, by table; of the secrets those that are live. */
const tables = ['owners', 'ledger', 'providers', 'agents', 'agent_versions', 'api_keys', 'api_key_secrets', 'documents', 'chunks', 'turns']
function counts(folder: string): Promise<Record<string, number>> {
  return readSnapshot(folder, async (sql) => {
    const rows = await Promise.all(
      tables.map((table) => sql.all(`select count(*) as n from ${table} ${table === 'api_key_secrets' ? 'where expires_at is null' : ''}`)),
    )
    return Object.fromEntries(tables.map((table, index) => [table, Number(rows[index]![0]!.n)]))
  })
}

/** The command as it is printed, from `curl` to the last line that ends without a backslash. */
function pastedCommand(stdout: string): string {
  const [command] = /^curl (?:.*\\\n)*.*$/m.exec(stdout) ?? []
  assert.ok(command, stdout)
  return command
}

/** Runs the pasted command in a real shell, with a `curl` that prints its arguments, and then sends that request. */
async function paste(command: string, t: TestContext): Promise<{ status: number; requestId: string | null; text: string }> {
  const bin = ownFolder(t)
  writeFileSync(join(bin, 'curl'), `#!/bin/sh\nprintf '%s\\0' "$@"\n`)
  chmodSync(join(bin, 'curl'), 0o755)
  const { stdout, stderr, status } = spawnSync('sh', ['-c', command], { encoding: 'utf8', env: { PATH: `${bin}:${process.env['PATH']}` } })
  assert.equal(status, 0, stderr)
  const words = stdout.split('\0').slice(0, -1)
  const headers = words.filter((_, index) => words[index - 1] === '-H').map((line) => line.split(/: (.*)/s, 2) as [string, string])
  const response = await fetch(words[0]!, { method: 'POST', headers, body: words[words.indexOf('-d') + 1]! })
  return { status: response.status, requestId: response.headers.get('x-request-id'), text: await response.text() }
}

describe('first start', () => {
  test('prints console, docs and one command; pasted twice it returns the same bytes and one charge; a second start creates nothing', async (t) => {
    const folder = join(ownFolder(t), 'data')
    const server = await serverOf(t, { TURNKEEP_DATA_DIR: folder })
    const first = await server.ready()
    assert.match(
      first,
      /^ {2}Console {6}http:\/\/127\.0\.0\.1:\d+\/console\n {2}Admin token {2}cat (\S+)\n {2}API docs {5}http:\/\/127\.0\.0\.1:\d+\/docs$/m,
    )
    assert.match(first, /Run this command twice/)
    const command = pastedCommand(first)
    assert.match(command, /^curl http:\/\/127\.0\.0\.1:\d+\/v1\/agents\/demo\/chat /)
    assert.ok(command.includes(`-H "Authorization: Bearer $(cat ${folder}/demo.key)"`))

    const reply = await paste(command, t)
    assert.equal(reply.status, 200, reply.text)
    const { message, usage } = JSON.parse(reply.text)
    assert.match(message.content, /you get the first reply again/)
    assert.match(message.content, /not a language model/)
    assert.ok(Number(usage.charged_usd) > 0)
    assert.deepEqual(await paste(command, t), reply)
    const made = await counts(folder)
    assert.deepEqual(made, {
      owners: 1,
      ledger: 2,
      providers: 0,
      agents: 1,
      agent_versions: 1,
      api_keys: 1,
      api_key_secrets: 1,
      documents: 6,
      chunks: made.chunks!,
      turns: 1,
    })
    assert.equal(await server.stop(), 0)

    const again = await serverOf(t, { TURNKEEP_DATA_DIR: folder })
    const port = /127\.0\.0\.1:\d+/g
    assert.equal((await again.ready()).replace(port, ''), first.replace(port, ''))
    assert.deepEqual(await counts(folder), made)
    assert.deepEqual(await paste(pastedCommand(await again.ready()), t), reply)
    assert.deepEqual(
      (await readSnapshot(folder, verify)).filter(({ rows }) => rows.length > 0),
      [],
    )
  })

  test('secrets are in files with mode 0600 in a folder with mode 0700, and are not shown', async (t) => {
    const folder = join(ownFolder(t), 'data')
    const openaiApiKey = 'sk-a-very-secret-key-of-openai'
    const server = await serverOf(t, { TURNKEEP_DATA_DIR: folder, TURNKEEP_LOG_LEVEL: 'trace', OPENAI_API_KEY: openaiApiKey })
    assert.equal(await server.stop(), 0)
    assert.equal(statSync(folder).mode & 0o777, 0o700)
    const files = ['admin.token', 'encryption.key', 'demo.key']
    for (const file of files) {
      assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600, file)
      const secret = readFileSync(join(folder, file), 'utf8')
      assert.ok(secret.length >= 43)
      assert.equal(secret, secret.trim(), 'the file holds the secret alone')
      for (const shown of [server.shown.stdout, server.shown.stderr]) assert.ok(!shown.includes(secret), file)
    }
    for (const file of readdirSync(folder)) assert.equal(statSync(join(folder, file)).mode & 0o077, 0, file)
    const stored = readdirSync(folder).filter((name) => name.startsWith('turnkeep.db'))
    assert.ok(stored.length > 0)
    const secrets = [openaiApiKey, ...files.map((file) => readFileSync(join(folder, file), 'utf8').split('.').at(-1)!)]
    for (const name of stored) for (const secret of secrets) assert.ok(!readFileSync(join(folder, name), 'latin1').includes(secret), name)
    assert.ok(!(server.shown.stdout + server.shown.stderr).includes(openaiApiKey))
  })

  test('a given admin token and encryption key are used and not written to disk', async (t) => {
    const folder = join(ownFolder(t), 'data')
    const token = 'the-operators-own-token'
    const server = await serverOf(t, {
      TURNKEEP_DATA_DIR: folder,
      TURNKEEP_ADMIN_TOKEN: token,
      TURNKEEP_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      TURNKEEP_DEMO: 'off',
    })
    const [, consoleUrl] = /Console {6}(\S+)\/console\n {2}Admin token {2}the value of TURNKEEP_ADMIN_TOKEN\n/.exec(server.shown.stdout)!
    const owners = await fetch(`${consoleUrl}/admin/v1/owners`, { headers: { authorization: `Bearer ${token}` } })
    assert.equal(owners.status, 200)
    assert.deepEqual(await owners.json(), { data: [], next_cursor: null })
    assert.ok(
      !existsSync(join(folder, 'admin.token')) && !existsSync(join(folder, 'encryption.key')) && !existsSync(join(folder, 'demo.key')),
    )
  })

  test('with TURNKEEP_DEMO=off nothing is created and no command is printed', async (t) => {
    const folder = join(ownFolder(t), 'data')
    const server = await serverOf(t, { TURNKEEP_DATA_DIR: folder, TURNKEEP_DEMO: 'off' })
    assert.ok(!server.shown.stdout.includes('curl'))
    assert.ok(Object.values(await counts(folder)).every((n) => n === 0))
  })

  test('a data folder with a space, quotes and a dollar in its path is quoted for the shell', async (t) => {
    const folder = join(ownFolder(t), `it's "my" $HOME data`)
    const server = await serverOf(t, { TURNKEEP_DATA_DIR: folder })
    assert.equal((await paste(pastedCommand(server.shown.stdout), t)).status, 200)
  })
})

describe('first start on PostgreSQL', { skip: noPostgres() }, () => {
  test('with TURNKEEP_DEMO=on one of three workers creates the demo; a second start creates nothing', async (t) => {
    const database = await makeDatabase()
    t.after(() => database.drop())
    const folder = join(ownFolder(t), 'data')
    const environment = {
      DATABASE_URL: database.url,
      TURNKEEP_ADMIN_TOKEN: 'the-operators-own-token',
      TURNKEEP_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      TURNKEEP_DATA_DIR: folder,
      TURNKEEP_WORKERS: '3',
    }
    const rows = (): Promise<Record<string, string>> =>
      withClient(database.url, async (client) => {
        const columns = tables.map((table) => `(select count(*) from ${table}) as ${table}`)
        return (await client.query(`select ${columns.join(', ')}`)).rows[0]
      })

    const without = await serverOf(t, environment)
    assert.ok(!without.shown.stdout.includes('curl'))
    assert.equal(await without.stop(), 0)
    assert.ok(!existsSync(folder), 'there is nothing to keep in a folder')
    assert.ok(Object.values(await rows()).every((count) => count === '0'))

    const server = await serverOf(t, { ...environment, TURNKEEP_DEMO: 'on' })
    const command = pastedCommand(server.shown.stdout)
    const reply = await paste(command, t)
    assert.equal(reply.status, 200, reply.text)
    assert.deepEqual(readdirSync(folder).toSorted(), ['demo.key', 'server.pid'])
    const made = await rows()
    const { owners, agents, api_keys: keys, api_key_secrets: secrets, documents, turns } = made
    assert.deepEqual(
      { owners, agents, keys, secrets, documents, turns },
      { owners: '1', agents: '1', keys: '1', secrets: '1', documents: '6', turns: '1' },
    )
    assert.equal(await server.stop(), 0)

    const again = await serverOf(t, { ...environment, TURNKEEP_DEMO: 'on' })
    assert.deepEqual(await paste(pastedCommand(again.shown.stdout), t), reply)
    assert.deepEqual(await rows(), made)
  })
})

describe('first start: addresses', () => {
  const demo = { agent: 'demo', keyPath: '/d/demo.key' }

  test('an address that listens on all interfaces is shown as localhost', () => {
    const lines = startLines({ url: 'http://0.0.0.0:80', adminUrl: 'http://[::]:81', tokenPath: '/d/admin.token', limiter: 'ok', demo })
    assert.match(lines, /Console {6}http:\/\/\[::1\]:81\/console/)
    assert.match(lines, /API docs {5}http:\/\/127\.0\.0\.1:80\/docs/)
    assert.match(lines, /^curl http:\/\/127\.0\.0\.1:80\/v1/m)
  })

  test('a renamed demo agent is called by its new name, or by its ID', async (t) => {
    const environment = { TURNKEEP_DATA_DIR: join(ownFolder(t), 'data') }
    /** What the printed command calls the agent, which is renamed afterwards. */
    const called = async (name: string): Promise<string> => {
      const server = await serverOf(t, environment)
      const [, url, agent] = /(http\S+)\/v1\/agents\/([^/]+)\/chat /.exec(await server.ready())!
      assert.equal((await paste(pastedCommand(server.shown.stdout), t)).status, 200)
      const token = readFileSync(join(environment.TURNKEEP_DATA_DIR, 'admin.token'), 'utf8').trim()
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const { data } = (await (await fetch(`${url}/admin/v1/agents`, { headers })).json()) as { data: [{ id: string }] }
      const changed = await fetch(`${url}/admin/v1/agents/${data[0].id}`, { method: 'PATCH', headers, body: JSON.stringify({ name }) })
      assert.equal(changed.status, 200, await changed.text())
      await server.stop()
      return agent!
    }
    assert.equal(await called('Café Support'), 'demo')
    assert.equal(await called('支持'), 'cafe-support')
    assert.match(await called('demo'), /^agt_/)
  })

  test('server.pid has the process that a kill ends, and is removed by a server that stops', async (t) => {
    const folder = join(ownFolder(t), 'data')
    const pidFile = join(folder, 'server.pid')
    const server = await serverOf(t, { TURNKEEP_DATA_DIR: folder })
    await server.ready()
    process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL')
    await server.ended
    const again = await serverOf(t, { TURNKEEP_DATA_DIR: folder })
    await again.ready()
    assert.notEqual(readFileSync(pidFile, 'utf8'), '')
    assert.equal(await again.stop(), 0)
    assert.ok(!existsSync(pidFile))
  })

  test('TURNKEEP_PUBLIC_URL is shown, and TURNKEEP_ADMIN_PORT has a separate address', async (t) => {
    const server = await serverOf(t, {
      TURNKEEP_DATA_DIR: ownFolder(t),
      TURNKEEP_PUBLIC_URL: 'https://chat.example.com/base/',
      TURNKEEP_ADMIN_PORT: '0',
    })
    assert.match(server.shown.stdout, /Console {6}http:\/\/127\.0\.0\.1:\d+\/console/)
    assert.match(server.shown.stdout, /API docs {5}https:\/\/chat\.example\.com\/base\/docs/)
    assert.match(server.shown.stdout, /^curl https:\/\/chat\.example\.com\/base\/v1\/agents\//m)
  })
})

/** The modules that a first start needs, on an existing store. */
async function modules(t: TestContext, given: { openaiApiKey?: string; anthropicApiKey?: string } = {}): Promise<FirstStartOptions> {
  const folder = openDataFolder(ownFolder(t))
  const store = await openSqliteStore({ folder: folder.path })
  t.after(() => store.close())
  const ulid = monotonicFactory()
  const newId = (prefix: string): string => `${prefix}_${ulid().toLowerCase()}`
  const { encryptionKeys } = readSecrets({ adminToken: undefined, encryptionKeys: undefined }, folder)
  const behind = agentModules(store, createSealer(encryptionKeys))
  const admin = createAdmin({
    store,
    ...behind,
    newId,
    randomBytes,
    adminToken: 'a-token',
    documentLimits: { maxQueued: 2_000, cpuMs: 60_000 },
  })
  const { openaiApiKey, anthropicApiKey } = given
  return { admin, knowledge: behind.knowledge, store, folder, openaiApiKey, anthropicApiKey }
}

class Killed extends Error {}

/** The same modules, in which the process dies when the n-th object was created and no response was sent. */
function dyingAfter(options: FirstStartOptions, n: number): FirstStartOptions {
  let made = 0
  const making = new Set(['createOwner', 'createProvider', 'createAgent', 'createApiKey', 'rotateApiKey', 'index', 'replace'])
  const dying = <Room extends object>(room: Room): Room =>
    new Proxy(room, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name)
        if (typeof method !== 'function' || !making.has(String(name))) return method
        return (...args: unknown[]): unknown => {
          made += 1
          const result: unknown = method.apply(target, args)
          if (made !== n) return result
          if (result instanceof Promise) return result.then(() => Promise.reject(new Killed()))
          throw new Killed()
        }
      },
    })
  return { ...options, admin: dying(options.admin), knowledge: dying(options.knowledge), folder: dying(options.folder) }
}

async function demoKeyOpens(options: FirstStartOptions, demo: Demo | undefined): Promise<void> {
  assert.ok(demo)
  const made = await counts(options.folder.path)
  assert.equal((await makeDemo(options))?.agentId, demo.agentId)
  assert.deepEqual(await counts(options.folder.path), made, 'the key in demo.key is good: nothing is made')
}

describe('first start: after a kill half way, the next start completes it and creates nothing twice', () => {
  const steps = 11
  for (let n = 1; n <= steps; n++) {
    test(`after step ${n} of ${steps}`, async (t) => {
      const options = await modules(t, { openaiApiKey: 'sk-test' })
      await assert.rejects(makeDemo(dyingAfter(options, n)), Killed)
      await demoKeyOpens(options, await makeDemo(options))
      assert.deepEqual(
        { ...(await counts(options.folder.path)), chunks: 0 },
        {
          owners: 1,
          ledger: 1,
          providers: 1,
          agents: 1,
          agent_versions: 1,
          api_keys: 1,
          api_key_secrets: 1,
          documents: 6,
          chunks: 0,
          turns: 0,
        },
      )
    })
  }

  test('there are no more steps than these', async (t) => {
    const options = await modules(t, { openaiApiKey: 'sk-test' })
    assert.ok(await makeDemo(dyingAfter(options, steps + 1)))
  })
})

describe("first start: the operator's changes stay", () => {
  test('a lost demo.key gets a new secret for the same key, so its conversations stay', async (t) => {
    const options = await modules(t)
    const demo = await makeDemo(options)
    const before = options.folder.read('demo.key')!
    rmSync(options.folder.pathOf('demo.key'))
    assert.deepEqual(await makeDemo(options), demo)
    const after = options.folder.read('demo.key')!
    assert.notEqual(after, before)
    assert.equal(after.split('.')[0], before.split('.')[0])
    await demoKeyOpens(options, demo)
  })

  for (const text of ['', 'svc_live_nonsense', 'svc_live_aaaaaaaaaaaaaaaa.0000000000000000000000000000000000000000000000000']) {
    test(`an invalid demo.key is replaced: ${JSON.stringify(text)}`, async (t) => {
      const options = await modules(t)
      const demo = await makeDemo(options)
      writeFileSync(options.folder.pathOf('demo.key'), text)
      assert.deepEqual(await makeDemo(options), demo)
      await demoKeyOpens(options, demo)
    })
  }

  test('a revoked demo key stays revoked, and nothing is created in its place', async (t) => {
    const options = await modules(t)
    const demo = await makeDemo(options)
    const [key] = (await options.admin.listApiKeys(demo!.agentId, { limit: 1 })).data
    await options.admin.revokeApiKey(key!.id)
    const made = await counts(options.folder.path)
    assert.equal(await makeDemo(options), undefined)
    assert.deepEqual(await counts(options.folder.path), made)
  })

  test('a deleted demo agent is not created again', async (t) => {
    const options = await modules(t)
    const demo = await makeDemo(options)
    await options.admin.deleteAgent(demo!.agentId)
    const made = await counts(options.folder.path)
    assert.equal(await makeDemo(options), undefined)
    assert.deepEqual(await counts(options.folder.path), made)
  })

  test('if the operator already has an agent, no demo is created', async (t) => {
    const options = await modules(t)
    const owner = await options.admin.createOwner({ name: 'mine' })
    await options.admin.createAgent({ ownerId: owner.id, name: 'demo', systemPrompt: '', model: 'demo/demo' })
    assert.equal(await makeDemo(options), undefined)
    assert.ok(!existsSync(options.folder.pathOf('demo.key')))
  })
})

describe("first start: the demo agent's model", () => {
  const cases = [
    [{}, 'demo/demo', undefined],
    [{ openaiApiKey: 'sk-o' }, 'openai/gpt-5.4-mini', { name: 'openai', kind: 'openai', baseUrl: null }],
    [{ anthropicApiKey: 'sk-a' }, 'anthropic/claude-haiku-4-5', { name: 'anthropic', kind: 'anthropic', baseUrl: null }],
    [{ openaiApiKey: 'sk-o', anthropicApiKey: 'sk-a' }, 'openai/gpt-5.4-mini', { name: 'openai', kind: 'openai', baseUrl: null }],
  ] as const
  for (const [given, model, provider] of cases) {
    test(`${Object.keys(given).join(' and ') || 'no key'}: ${model}`, async (t) => {
      const options = await modules(t, given)
      const demo = await makeDemo(options)
      const agent = await options.admin.findAgent(demo!.agentId)
      assert.equal(agent.model, model)
      assert.ok(agent.price.promptPerMillion > 0n && agent.price.completionPerMillion > agent.price.promptPerMillion)
      const stored = (await options.admin.listProviders({ limit: 10 })).data.map(({ name, kind, baseUrl }) => ({ name, kind, baseUrl }))
      assert.deepEqual(stored, provider ? [provider] : [])
    })
  }

  test('a key that is added at a later start changes nothing', async (t) => {
    const options = await modules(t)
    const demo = await makeDemo(options)
    await makeDemo({ ...options, openaiApiKey: 'sk-later' })
    assert.equal((await options.admin.findAgent(demo!.agentId)).model, 'demo/demo')
    assert.equal((await options.admin.listProviders({ limit: 10 })).data.length, 0)
  })
})

describe('data folder', () => {
  test('two processes that create a secret at the same time get the same one', (t) => {
    const path = ownFolder(t)
    const [one, other] = [openDataFolder(path), openDataFolder(path)]
    const text = one.readOrMake('admin.token', () => other.readOrMake('admin.token', () => 'from the other') && 'from the one')
    assert.equal(text, 'from the other')
    assert.equal(one.read('admin.token'), 'from the other')
    assert.deepEqual(readdirSync(path), ['admin.token'])
    assert.equal(statSync(one.pathOf('admin.token')).mode & 0o777, 0o600)
  })

  test('an empty secret is refused, never used', (t) => {
    const folder = openDataFolder(ownFolder(t))
    writeFileSync(folder.pathOf('admin.token'), '\n')
    assert.throws(() => folder.readOrMake('admin.token', () => 'x'), /admin\.token is empty/)
  })

  test('an invalid encryption key is refused', (t) => {
    const folder = openDataFolder(ownFolder(t))
    writeFileSync(folder.pathOf('encryption.key'), 'not a key')
    assert.throws(
      () => readSecrets({ adminToken: 'given', encryptionKeys: undefined }, folder),
      /encryption\.key does not contain a 32-byte key/,
    )
  })

  test('an existing folder is used unchanged', (t) => {
    const path = join(ownFolder(t), 'there')
    mkdirSync(path, { mode: 0o750 })
    openDataFolder(path)
    assert.equal(statSync(path).mode & 0o777, 0o750)
  })
})

test('an install fills the compile cache, and succeeds and says so if the server cannot start', () => {
  const fill = (environment: Record<string, string>, ...words: string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, '../deploy/fill-compile-cache.js'), ...words], {
      env: { PATH: process.env['PATH'], ...environment },
      encoding: 'utf8',
    })
  const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as { scripts: { prepare: string } }
  assert.match(scripts.prepare, /&& node deploy\/fill-compile-cache\.js --or-say-why-not$/)
  assert.deepEqual([fill({}).status, fill({}, '--or-say-why-not').stderr], [0, ''])
  const nowhere = { TMPDIR: '/nonexistent' }
  assert.equal(fill(nowhere).status, 1)
  const { status, stderr } = fill(nowhere, '--or-say-why-not')
  assert.equal(status, 0)
  assert.ok(stderr.startsWith('The compile cache is not filled, so the first start takes longer: ENOENT'), stderr)
})
