/** The process around the modules: what stops a start, with one line and exit code 2; how a running server ends. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { makeDatabase, noPostgres, sharedPostgres, withClient } from './support/postgres-server.ts'
import { gate, startModelServer } from './support/model-server.ts'
import { ProcessRuns } from './support/process-runs.ts'
import { withoutTerminal } from './cli/terminal-session.ts'
import { showServer } from './support/shown-server.ts'

const command = fileURLToPath(new URL('../bin/turnkeep.js', import.meta.url))
const adminToken = 'the-operators-token'
/** Settings that are required together with a database that several machines share. */
const shared = { TURNKEEP_ADMIN_TOKEN: adminToken, TURNKEEP_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }

function ownFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-process-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** It prints one line and ends; one that starts is stopped, and the test fails. */
async function refused(environment: Record<string, string>, line: RegExp): Promise<void> {
  const server = showServer(environment)
  void server.ready().then(server.stop, () => undefined)
  assert.deepEqual(await server.ended, { code: 2, signal: null }, server.shown.stderr)
  assert.equal(server.shown.stdout, '')
  assert.match(server.shown.stderr, /^turnkeep: [^\n]+\n$/)
  assert.match(server.shown.stderr, line)
}

describe('process: what stops a start is reported in one line, with exit code 2', () => {
  test('a bad setting', () => refused({ TURNKEEP_DRAIN_SECONDS: 'long' }, /TURNKEEP_DRAIN_SECONDS: must be a whole number/))
  test('an unknown setting', () => refused({ TURNKEEP_PROT: '1' }, /TURNKEEP_PROT: unknown setting/))
  test('several workers on the embedded database', () =>
    refused(
      { TURNKEEP_WORKERS: '2' },
      /TURNKEEP_WORKERS: more than 1 requires DATABASE_URL; only one process can use the embedded database/,
    ))
  test('a shared database without the key that seals what is in it', () =>
    refused({ ...shared, DATABASE_URL: 'postgres://localhost/x', TURNKEEP_ENCRYPTION_KEY: '' }, /TURNKEEP_ENCRYPTION_KEY: must be set/))
  test('failpoints outside of tests', () =>
    refused({ NODE_ENV: 'production', TURNKEEP_FAILPOINTS: 'drain.begin=kill' }, /TURNKEEP_FAILPOINTS: can only be set with NODE_ENV=test/))

  test('a data folder below a file', (t) => {
    const file = join(ownFolder(t), 'file')
    writeFileSync(file, '')
    return refused({ TURNKEEP_DATA_DIR: join(file, 'data') }, /cannot create the data folder .*data: part of its path is a file/)
  })

  // Not even root may create a folder there.
  test('a data folder that cannot be created', () =>
    refused(
      { TURNKEEP_DATA_DIR: '/sys/turnkeep' },
      /cannot write to the data folder \/sys\/turnkeep: operation not permitted; set TURNKEEP_DATA_DIR/,
    ))

  test('a data folder that another server uses', async (t) => {
    const folder = ownFolder(t)
    const first = showServer({ TURNKEEP_DATA_DIR: folder })
    await first.ready()
    await refused({ TURNKEEP_DATA_DIR: folder }, /the data folder .* is in use by another Turnkeep process/)
    assert.equal(await first.stop(), 0)
  })

  test('a database of a newer version', async (t) => {
    const folder = ownFolder(t)
    const first = showServer({ TURNKEEP_DATA_DIR: folder })
    await first.ready()
    await first.stop()
    const db = new DatabaseSync(join(folder, 'turnkeep.db'))
    db.exec(`insert into migrations values ('9999-later.sql', 'x', 1)`)
    db.close()
    await refused({ TURNKEEP_DATA_DIR: folder }, /migrated by a newer Turnkeep/)
  })

  test('a file that is not a database', (t) => {
    const folder = ownFolder(t)
    writeFileSync(join(folder, 'turnkeep.db'), 'x'.repeat(10_000))
    return refused({ TURNKEEP_DATA_DIR: folder }, /the database in .* cannot be used/)
  })

  for (const [setting, environment] of [
    ['PORT', (port: string) => ({ PORT: port })],
    ['TURNKEEP_ADMIN_PORT', (port: string) => ({ TURNKEEP_ADMIN_PORT: port })],
  ] as const) {
    test(`${setting} in use`, async (t) => {
      const other = createServer().listen(0, '127.0.0.1')
      await once(other, 'listening')
      t.after(() => other.close())
      const { port } = other.address() as AddressInfo
      const line = new RegExp(`127\\.0\\.0\\.1:${port} is in use by another program; set ${setting} to a free one`)
      await refused({ TURNKEEP_DATA_DIR: ownFolder(t), ...environment(String(port)) }, line)
    })
  }

  test('an address of another machine', (t) =>
    refused({ TURNKEEP_DATA_DIR: ownFolder(t), TURNKEEP_HOST: '192.0.2.1' }, /TURNKEEP_HOST: 192\.0\.2\.1 is no address of this machine/))

  test('an admin address of another machine', (t) =>
    refused(
      { TURNKEEP_DATA_DIR: ownFolder(t), TURNKEEP_ADMIN_PORT: '0', TURNKEEP_ADMIN_HOST: '192.0.2.1' },
      /TURNKEEP_ADMIN_HOST: 192\.0\.2\.1 is no address of this machine/,
    ))

  test('a missing or another encryption key, unless the operator gives up the stored secrets', async (t) => {
    const runs = await ProcessRuns.begin(t)
    const { folder } = runs
    const keyPath = join(folder, 'encryption.key')
    assert.equal(await runs.server!.stop(), 0)
    const key = readFileSync(keyPath)

    rmSync(keyPath)
    const missing = /the API key of the provider cannot be decrypted: .*encryption\.key is missing\. Restore the key/
    await refused({ TURNKEEP_DATA_DIR: folder }, missing)
    assert.ok(!existsSync(keyPath), 'the refused start stores no new key')
    writeFileSync(keyPath, randomBytes(32).toString('base64'))
    await refused({ TURNKEEP_DATA_DIR: folder }, /encryption\.key contains another key/)
    const given = { TURNKEEP_DATA_DIR: folder, TURNKEEP_ENCRYPTION_KEY: randomBytes(32).toString('base64') }
    await refused(given, /TURNKEEP_ENCRYPTION_KEY does not contain its key/)

    writeFileSync(keyPath, key)
    await runs.start()
    assert.equal((await runs.client.chat('hello')).status, 200)
    assert.equal(await runs.server!.stop(), 0)
    rmSync(keyPath)
    runs.env['TURNKEEP_LOST_SECRETS'] = 'on'
    await runs.start()
    assert.ok(existsSync(keyPath))
  })
})

describe('process: what stops a start on PostgreSQL, with one worker and with several', { skip: noPostgres() }, () => {
  const starts = [
    ['one worker', '1'],
    ['three workers', '3'],
  ] as const
  const refusedThere = (environment: Record<string, string>, line: RegExp): Promise<void> =>
    refused({ ...shared, TURNKEEP_LOG_LEVEL: 'silent', ...environment }, line)

  for (const [who, workers] of starts) {
    test(`${who}: an unreachable database`, async () => {
      const url = new URL(await sharedPostgres())
      Object.assign(url, { pathname: '/turnkeep_nowhere', password: 'canary' })
      await refusedThere(
        { DATABASE_URL: url.href, TURNKEEP_WORKERS: workers },
        /^turnkeep: the database of DATABASE_URL cannot be used: .*"turnkeep_nowhere" does not exist \(3D000\)\n$/,
      )
    })

    test(`${who}: a database of a newer version`, async (t) => {
      const database = await makeDatabase()
      t.after(() => database.drop())
      await withClient(database.url, (client) =>
        client.query(`create table migrations (name text primary key, checksum text, contract boolean, applied_at bigint);
          insert into migrations values ('9999-later.sql', 'x', true, 1)`),
      )
      await refusedThere({ DATABASE_URL: database.url, TURNKEEP_WORKERS: workers }, /migrated by a newer Turnkeep/)
    })

    for (const setting of ['PORT', 'TURNKEEP_ADMIN_PORT']) {
      test(`${who}: ${setting} in use`, async (t) => {
        const [database, other] = [await makeDatabase(), createServer().listen(0, '127.0.0.1')]
        await once(other, 'listening')
        t.after(() => other.close())
        t.after(() => database.drop())
        const { port } = other.address() as AddressInfo
        await refusedThere(
          { DATABASE_URL: database.url, TURNKEEP_WORKERS: workers, [setting]: String(port) },
          new RegExp(`127\\.0\\.0\\.1:${port} is in use by another program; set ${setting} to a free one`),
        )
      })
    }
  }

  test('several workers: one port for both', async (t) => {
    const [database, free] = [await makeDatabase(), createServer().listen(0, '127.0.0.1')]
    await once(free, 'listening')
    t.after(() => database.drop())
    const { port } = free.address() as AddressInfo
    free.close()
    await refusedThere(
      { DATABASE_URL: database.url, TURNKEEP_WORKERS: '2', PORT: String(port), TURNKEEP_ADMIN_PORT: String(port) },
      /is in use by another program; set TURNKEEP_ADMIN_PORT to a free one/,
    )
  })

  test('several workers: a port on which another server has several workers', async (t) => {
    const database = await makeDatabase()
    t.after(() => database.drop())
    const first = showServer({ ...shared, DATABASE_URL: database.url, TURNKEEP_WORKERS: '2' })
    t.after(() => first.child.kill('SIGKILL'))
    await first.ready()
    const [, port] = /API docs {5}http:\/\/127\.0\.0\.1:(\d+)\/docs/.exec(first.shown.stdout)!
    await refusedThere({ DATABASE_URL: database.url, TURNKEEP_WORKERS: '2', PORT: port! }, /is in use by another program/)
    assert.equal(await first.stop(), 0)
  })

  test('a folder that cannot be created does not matter', async (t) => {
    const database = await makeDatabase()
    t.after(() => database.drop())
    const server = showServer({ ...shared, DATABASE_URL: database.url, TURNKEEP_DATA_DIR: '/sys/turnkeep' })
    t.after(() => server.child.kill('SIGKILL'))
    await server.ready()
    assert.equal(await server.stop(), 0)
  })
})

/** A server with a turn that waits for its model until `held` is opened. */
async function serverWithTurn(t: TestContext, environment: Record<string, string> = {}) {
  const server = showServer({ TURNKEEP_DATA_DIR: ownFolder(t), TURNKEEP_DEMO: 'off', TURNKEEP_ADMIN_TOKEN: adminToken, ...environment })
  t.after(() => server.child.kill('SIGKILL'))
  await server.ready()
  const [, url] = /API docs {5}(\S+)\/docs/.exec(server.shown.stdout)!
  return { server, url: url!, ...(await turnAt(t, url!)) }
}

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`)
const noFullDevice = (): string | false => !existsSync('/dev/full') && '/dev/full is of Linux'

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** The address that a start prints. */
async function shownUrl(stdout: Readable): Promise<string> {
  let shown = ''
  for await (const piece of stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    shown += piece
    const [, url] = /API docs {5}(\S+)\/docs/.exec(shown) ?? []
    if (url !== undefined) return url
  }
  throw new Error(`no address was shown:\n${shown}`)
}

/** The environment of a server that is not started by showServer. */
const ownEnvironment = (folder: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  TURNKEEP_DATA_DIR: folder,
  TURNKEEP_DEMO: 'off',
  TURNKEEP_ADMIN_TOKEN: adminToken,
  PORT: '0',
})

async function turnAt(t: TestContext, url: string) {
  const model = await startModelServer()
  t.after(() => model.close())
  const make = async (path: string, body: object): Promise<Record<string, string>> => {
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
    const response = await fetch(`${url}/admin/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.equal(response.status, 201, path)
    return (await response.json()) as Record<string, string>
  }
  await make('/providers', { name: 'scripted', kind: 'openai-compatible', base_url: model.baseUrl, api_key: 'k' })
  const owner = await make('/owners', { name: 'o', balance_usd: '1' })
  const price = { prompt_usd_per_million: '1', completion_usd_per_million: '1' }
  const agent = await make('/agents', { owner_id: owner['id'], name: 'a', system_prompt: 's', model: 'scripted/m', price })
  const key = await make(`/agents/${agent['id']}/keys`, { permission: 'full' })
  const held = gate()
  model.script(['Hel', held, 'lo'])
  const reply = fetch(`${url}/v1/agents/${agent['id']}/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key['api_key']}`, 'idempotency-key': 'k', 'content-type': 'application/json' },
    body: JSON.stringify({ external_user_id: 'u', message: 'm' }),
  }).then(
    async (response) => ({ status: response.status, body: (await response.json()) as { message?: { content: string } } }),
    () => undefined,
  )
  await held.reached
  return { held, reply }
}

describe('process: its end', () => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    test(`${signal} lets a running turn finish, then exits 0`, async (t) => {
      const { server, held, reply } = await serverWithTurn(t)
      server.child.kill(signal)
      await server.shows('stderr', /draining/)
      held.open()
      assert.deepEqual(
        { status: 200, content: 'Hello' },
        await reply.then((one) => ({ status: one?.status, content: one?.body.message?.content })),
      )
      assert.deepEqual(await server.ended, { code: 0, signal: null })
    })
  }

  test(
    'a terminal that is closed lets a running turn finish, although nothing can be logged anymore',
    { skip: process.platform === 'linux' ? withoutTerminal : '/proc is of Linux' },
    async (t) => {
      const folder = ownFolder(t)
      const output = join(folder, 'stdout')
      const serve = `echo $$ > '${folder}/pid'; exec '${process.execPath}' '${command}' serve > '${output}'`
      const env = ownEnvironment(join(folder, 'data'))
      const terminal = spawn('script', ['-qfc', serve, '/dev/null'], { env, stdio: 'ignore' })
      t.after(() => terminal.kill('SIGKILL'))
      const started = /API docs {5}(\S+)\/docs/
      const shown = (): string => (existsSync(output) ? readFileSync(output, 'utf8') : '')
      while (!started.test(shown())) await pass(20)
      const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'))
      t.after(() => isAlive(pid) && process.kill(pid, 'SIGKILL'))
      const url = started.exec(shown())![1]!
      const { held, reply } = await turnAt(t, url)
      terminal.kill('SIGKILL')
      // A drain accepts no new connections.
      while (await accepts(Number(new URL(url).port))) await pass(20)
      held.open()
      assert.equal((await reply)?.status, 200)
      while (isAlive(pid)) await pass(20)
    },
  )

  test(
    'SIGKILL of its parent lets a running turn finish',
    { skip: process.platform === 'win32' && 'there are no such signals' },
    async (t) => {
      // Not the last command, which some shells would replace themselves with.
      const serve = `TURNKEEP_STARTED_BY=$$ '${process.execPath}' '${command}' serve; exit`
      const parent = spawn('sh', ['-c', serve], { env: ownEnvironment(ownFolder(t)), stdio: ['ignore', 'pipe', 'ignore'] })
      t.after(() => parent.kill('SIGKILL'))
      const url = await shownUrl(parent.stdout)
      const { held, reply } = await turnAt(t, url)
      parent.kill('SIGKILL')
      // A drain accepts no new connections.
      while (await accepts(Number(new URL(url).port))) await pass(20)
      // Longer than two of the intervals at which a server looks for its parent.
      await pass(2_500)
      held.open()
      assert.equal((await reply)?.status, 200)
      // The output ends with the server.
      await finished(parent.stdout.resume())
    },
  )

  test('a log that cannot be written stops neither a start nor a turn nor the exit', { skip: noFullDevice() }, async (t) => {
    const full = openSync('/dev/full', 'w')
    t.after(() => closeSync(full))
    const env = ownEnvironment(ownFolder(t))
    const child = spawn(process.execPath, [command, 'serve'], { env, stdio: ['ignore', 'pipe', full] })
    t.after(() => child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    const { held, reply } = await turnAt(t, await shownUrl(child.stdout!))
    held.open()
    assert.equal((await reply)?.status, 200)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  })

  test('SIGUSR1 opens no debugger', { skip: process.platform === 'win32' && 'there are no such signals on Windows' }, async (t) => {
    const { server, held, reply } = await serverWithTurn(t)
    server.child.kill('SIGUSR1')
    held.open()
    assert.equal((await reply)?.status, 200)
    assert.equal(await server.stop(), 0)
    assert.doesNotMatch(server.shown.stderr, /debugger/i)
  })

  for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
    test(`${signal} ends a start that waits for its database with exit code 0`, async (t) => {
      // It accepts and sends nothing.
      const silent = createServer().listen(0, '127.0.0.1')
      t.after(() => silent.close())
      await once(silent, 'listening')
      const reached = once(silent, 'connection')
      const server = showServer({ ...shared, DATABASE_URL: `postgres://127.0.0.1:${(silent.address() as AddressInfo).port}/x` })
      const [socket] = await reached
      t.after(() => socket.destroy())
      server.child.kill(signal)
      assert.deepEqual(await server.ended, { code: 0, signal: null })
    })
  }

  test('a signal without turns exits 0 immediately', async (t) => {
    const server = showServer({ TURNKEEP_DATA_DIR: ownFolder(t) })
    await server.ready()
    assert.equal(await server.stop(), 0)
  })

  test('signals that arrive together, as one Ctrl-C under npm, are one', async (t) => {
    const { server, held, reply } = await serverWithTurn(t)
    server.child.kill('SIGINT')
    server.child.kill('SIGTERM')
    await server.shows('stderr', /draining/)
    held.open()
    assert.equal((await reply)?.status, 200)
    assert.deepEqual(await server.ended, { code: 0, signal: null })
  })

  test('a second signal ends it immediately', async (t) => {
    const { server, reply } = await serverWithTurn(t)
    server.child.kill('SIGINT')
    await server.shows('stderr', /draining/)
    // Sent again until it counts: how soon is up to the process.
    const again = setInterval(() => server.child.kill('SIGINT'), 100)
    const { code } = await server.ended
    clearInterval(again)
    assert.equal(code, 1)
    assert.match(server.shown.stderr, /second signal received/)
    assert.equal(await reply, undefined)
  })

  test('TURNKEEP_DRAIN_SECONDS ends a drain whose turn does not finish, with exit code 0', async (t) => {
    const { server, reply } = await serverWithTurn(t, { TURNKEEP_DRAIN_SECONDS: '0' })
    assert.equal(await server.stop(), 0)
    assert.equal((await reply)?.status, 503)
  })

  test('a drain that fails logs the cause and exits 1', async (t) => {
    const server = showServer({ TURNKEEP_DATA_DIR: ownFolder(t), TURNKEEP_FAILPOINTS: 'drain.begin=throw' })
    await server.ready()
    assert.equal(await server.stop(), 1)
    assert.match(server.shown.stderr, /"level":"fatal".*failpoint drain\.begin.*drain failed/)
  })

  for (const [what, fault] of [
    ['an uncaught exception', `throw new Error('planted')`],
    ['an unhandled rejection', `void Promise.reject(new Error('planted'))`],
  ]) {
    test(`${what} is logged and ends it with exit code 1`, async (t) => {
      const planted = `data:text/javascript,process.on('SIGUSR2',()=>{${encodeURIComponent(fault!)}})`
      const server = showServer({ TURNKEEP_DATA_DIR: ownFolder(t), NODE_OPTIONS: `--import=${planted}` })
      await server.ready()
      server.child.kill('SIGUSR2')
      assert.deepEqual(await server.ended, { code: 1, signal: null })
      assert.match(server.shown.stderr, /"level":"fatal".*planted/)
    })
  }
})

describe('turnkeep config', () => {
  const config = (environment: Record<string, string>, ...args: string[]) =>
    spawnSync(process.execPath, [command, 'config', ...args], { encoding: 'utf8', env: environment })

  test('prints every setting with its value, source and meaning, and no secret', (t) => {
    const folder = ownFolder(t)
    writeFileSync(join(folder, 'encryption.key'), 'canary')
    const { status, stdout } = config(
      { TURNKEEP_DATA_DIR: folder, PORT: '9000', TURNKEEP_ADMIN_TOKEN: adminToken, OPENAI_API_KEY: 'sk-canary' },
      '--json',
    )
    assert.equal(status, 0)
    const { settings } = JSON.parse(stdout)
    const reported = Object.fromEntries(settings.map((one: Record<string, string>) => [one['name'], [one['value'], one['source']]]))
    assert.deepEqual(reported['PORT'], ['9000', 'environment'])
    assert.deepEqual(reported['TURNKEEP_HOST'], ['127.0.0.1', 'default'])
    assert.deepEqual(reported['TURNKEEP_ADMIN_TOKEN'], ['(hidden)', 'environment'])
    assert.deepEqual(reported['OPENAI_API_KEY'], ['(hidden)', 'environment'])
    assert.deepEqual(reported['TURNKEEP_ENCRYPTION_KEY'], [join(folder, 'encryption.key'), 'file'])
    assert.deepEqual(reported['TURNKEEP_PUBLIC_URL'], [null, 'not set'])
    assert.ok(settings.every((one: Record<string, string>) => one['meaning']!.endsWith('.')))
    assert.ok(!stdout.includes('canary') && !stdout.includes(adminToken))
  })

  test('shows where a database is and not its credentials', () => {
    const address = 'postgres://turnkeep:canary@db.internal:5432/turnkeep?sslmode=require'
    const { status, stdout } = config({ ...shared, DATABASE_URL: address, REDIS_URL: 'redis://:canary@cache:6379/1' })
    assert.equal(status, 0)
    assert.match(stdout, /^DATABASE_URL +postgres:\/\/turnkeep:…@db\.internal:5432\/turnkeep {2}\(environment\)$/m)
    assert.match(stdout, /^REDIS_URL +redis:\/\/:…@cache:6379\/1 {2}\(environment\)$/m)
    assert.match(stdout, /^TURNKEEP_DEMO +off {2}\(default\)$/m)
    assert.ok(!stdout.includes('canary'))
  })

  test('prints what it can and the problems, and exits 2, if the server would not start', () => {
    const { status, stdout, stderr } = config({ ...shared, PORT: 'x', DATABASE_URL: 'mysql://user:canary@host/db' })
    assert.equal(status, 2)
    assert.match(stdout, /^TURNKEEP_MAX_TURNS +1000 {2}\(default\)\n +Maximum number of running turns/m)
    assert.match(stderr, /^turnkeep: PORT: must be .*\nturnkeep: DATABASE_URL: must be a URL .*\n$/)
    assert.ok(!(stdout + stderr).includes('canary'))
  })
})
