/** `turnkeep doctor`: for each problem, the line that reports it and how to fix it. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as ask } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import { checkConfinement, checkFolder, checkNode, checkOpenFiles, checkSpace } from '../../src/cli/doctor/machine-checks.ts'
import { checkClock, checkServer } from '../../src/cli/doctor/server-checks.ts'
import { readConfig } from '../../src/config/config.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { runCommand } from '../support/run-command.ts'
import { startServer } from '../support/server-process.ts'
import { adminToken, makeFolder, startTestApp } from '../support/test-app.ts'

const encryptionKey = randomBytes(32).toString('base64')

async function doctor(environment: Record<string, string>, ...flags: string[]): Promise<{ code: number | null; checks: Finding[] }> {
  const { code, stdout, stderr } = await runCommand(['doctor', '--json', ...flags], environment)
  assert.equal(stderr, '')
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Finding[] }
  assert.equal(code, ok ? 0 : 1)
  assert.equal(
    ok,
    checks.every(({ status }) => status !== 'fail'),
  )
  return { code, checks }
}

/** Asserts the one finding of a check: its status, its text and its advice. */
function says(checks: Finding[], check: string, status: Finding['status'], words: RegExp, fix = /./): void {
  const found = checks.filter((one) => one.check === check)
  assert.equal(found.length, 1, JSON.stringify(checks))
  assert.equal(found[0]!.status, status, JSON.stringify(found))
  assert.match(found[0]!.says, words)
  if (status !== 'ok') assert.match(found[0]!.fix ?? '', fix)
}

/** A data folder with an empty store, as a server leaves it; no server runs, and its port is a free one. */
async function stopped(t: TestContext): Promise<{ folder: string; environment: Record<string, string> }> {
  const folder = await makeFolder()
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await (await openSqliteStore({ folder })).close()
  writeFileSync(join(folder, 'encryption.key'), encryptionKey, { mode: 0o600 })
  return { folder, environment: { TURNKEEP_DATA_DIR: folder, PORT: String(await freePort()) } }
}

async function freePort(): Promise<number> {
  const server = await listening(createServer())
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => void server.close(resolve))
  return port
}

async function listening(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return server
}

async function behind(t: TestContext, server: Server): Promise<string> {
  await listening(server)
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function sql(folder: string, text: string): void {
  const db = new DatabaseSync(join(folder, 'turnkeep.db'))
  db.exec(text)
  db.close()
}

describe('turnkeep doctor: this machine', () => {
  test('an old Node fails', () => {
    says([checkNode('20.19.0')], 'node', 'fail', /Node 20\.19\.0/, /Node 24/)
    says([checkNode('24.0.0')], 'node', 'ok', /24/)
  })

  test('a system that does not confine the process that reads documents warns', async () => {
    const words = 'the system does not allow namespaces (unshare failed)'
    says(
      [await checkConfinement(Promise.resolve({ command: [], words }))],
      'documents',
      'warn',
      /does not confine: .*unshare failed/,
      /user namespaces/,
    )
    const confined = { command: ['/usr/bin/unshare'], words: 'no network' }
    says([await checkConfinement(Promise.resolve(confined))], 'documents', 'ok', /in a confined process: no network/)
  })

  test('a refused setting fails, and one that exposes keys to the network warns', async (t) => {
    const { environment } = await stopped(t)
    says((await doctor({ ...environment, TURNKEEP_DRAIN_SECONDS: 'long' })).checks, 'settings', 'fail', /TURNKEEP_DRAIN_SECONDS: must be/)
    const bad = await doctor({ ...environment, PORT: 'x' })
    says(bad.checks, 'settings', 'fail', /PORT: must be/, /turnkeep config/)
    const open = await doctor({ ...environment, TURNKEEP_PUBLIC_URL: 'http://turnkeep.invalid' })
    says(open.checks, 'settings', 'warn', /is not https/, /https/)
  })

  test('a data folder that others can read, that is a file, or that does not exist', async (t) => {
    const { folder, environment } = await stopped(t)
    chmodSync(folder, 0o755)
    const { checks } = await doctor(environment)
    says(checks, 'data folder', 'warn', /mode 755/, /^chmod 700 /)
    says(checks, 'store', 'ok', /^SQLite, in .*, because DATABASE_URL is not set$/)
    const file = join(folder, 'encryption.key')
    says((await doctor({ ...environment, TURNKEEP_DATA_DIR: file })).checks, 'data folder', 'fail', /is a file, not a folder/)
    says((await doctor({ ...environment, TURNKEEP_DATA_DIR: join(folder, 'none') })).checks, 'data folder', 'warn', /does not exist/)
  })

  test('a data folder without write permission fails', async (t) => {
    const { folder } = await stopped(t)
    const outcome = readConfig({ TURNKEEP_DATA_DIR: folder })
    assert.ok(outcome.kind === 'config')
    says(checkFolder(outcome.config, false), 'data folder', 'fail', /^this user cannot write to /, /chown/)
  })

  test('fewer open files than running turns need warn', () => {
    says(
      checkOpenFiles(1000, 1024),
      'open files',
      'warn',
      /^the limit is 1,024; TURNKEEP_MAX_TURNS=1000 needs up to 2,200$/,
      /LimitNOFILE=2200/,
    )
    says(checkOpenFiles(1000, 65_536), 'open files', 'ok', /^the limit is 65,536;/)
    assert.deepEqual(checkOpenFiles(1000, undefined), process.platform === 'linux' ? checkOpenFiles(1000) : [])
  })

  test('a disk that is nearly full warns, then fails', () => {
    says([checkSpace('', 5e9)], 'disk', 'ok', /MiB free/)
    says([checkSpace('', 5e8)], 'disk', 'warn', /^476 MiB free/, /Free up space/)
    says([checkSpace('', 5e7)], 'disk', 'fail', /^47 MiB free/, /Free up space/)
  })

  test('a secret that others can read fails, and so does a missing encryption key', async (t) => {
    const { folder, environment } = await stopped(t)
    chmodSync(join(folder, 'encryption.key'), 0o644)
    says((await doctor(environment)).checks, 'secrets', 'fail', /^other users can read .*encryption\.key \(mode 644\)/, /^chmod 600 /)
    rmSync(join(folder, 'encryption.key'))
    says((await doctor(environment)).checks, 'secrets', 'fail', /encryption\.key is missing/, /Restore the encryption\.key/)
    says((await doctor({ ...environment, TURNKEEP_ENCRYPTION_KEY: encryptionKey })).checks, 'secrets', 'ok', /./)
  })
})

describe('turnkeep doctor: the database', () => {
  test('a valid database that no process uses is reported as such', async (t) => {
    const { environment } = await stopped(t)
    const { code, checks } = await doctor(environment)
    assert.equal(code, 0)
    says(checks, 'folder lock', 'ok', /no server uses/)
    says(checks, 'database', 'ok', /schema is up to date/)
    says(checks, 'invariants', 'ok', /all \d+ hold/)
    says(checks, 'port', 'ok', /is free/)
    says(checks, 'server', 'warn', /cannot reach/, /turnkeep serve/)
  })

  test('one that does not exist, is damaged, of a newer Turnkeep, or needs a migration', async (t) => {
    const { folder, environment } = await stopped(t)
    sql(folder, `delete from migrations where name = (select max(name) from migrations)`)
    says((await doctor(environment)).checks, 'database', 'warn', /older than this version of Turnkeep/, /next start/)
    sql(folder, `insert into migrations values ('9999-from-the-future.sql', '', 0)`)
    says((await doctor(environment)).checks, 'database', 'fail', /newer version of Turnkeep \(9999-from-the-future\.sql\)/, /that version/)
    writeFileSync(join(folder, 'turnkeep.db'), 'no database at all, but long enough to be taken for the header of one. '.repeat(20))
    says((await doctor(environment)).checks, 'database', 'fail', /cannot read it: .*not a database/, /backup/)
    rmSync(join(folder, 'turnkeep.db'))
    says((await doctor(environment)).checks, 'database', 'warn', /no database found/, /first start/)
    mkdirSync(join(folder, 'turnkeep.db'))
    says((await doctor(environment)).checks, 'database', 'fail', /cannot read it: /)
  })

  test('a violated invariant fails with its name', async (t) => {
    const { folder, environment } = await stopped(t)
    sql(folder, `insert into owners (id, name, balance, held, created_at) values ('own_x', 'X', 5, 0, 0)`)
    says((await doctor(environment)).checks, 'invariants', 'fail', /^broken: balance-is-ledger-sum$/, /turnkeep verify/)
  })
})

describe('turnkeep doctor: the server', () => {
  test('a healthy server passes every check; a wrong token and a provider that refuses fail', async () => {
    await using app = await startTestApp()
    const environment = {
      TURNKEEP_DATA_DIR: app.folder,
      PORT: new URL(app.url).port,
      TURNKEEP_ADMIN_TOKEN: adminToken,
      TURNKEEP_ENCRYPTION_KEY: encryptionKey,
    }
    const { checks } = await doctor(environment, '--providers')
    says(checks, 'folder lock', 'ok', /a running server uses/)
    says(checks, 'port', 'ok', /Turnkeep is listening on/)
    says(checks, 'server', 'ok', /is ready/)
    says(checks, 'clock', 'ok', /in sync/)
    says(checks, 'admin token', 'ok', /accepted/)
    says(checks, 'provider scripted', 'ok', /responds in \d+ ms/)
    await app.made('POST', '/providers', { name: 'gone', kind: 'openai-compatible', base_url: 'http://127.0.0.1:1/v1', api_key: 'k' })
    says((await doctor(environment, '--providers')).checks, 'provider gone', 'fail', /./, /provider test gone/)
    says(
      (await doctor({ ...environment, TURNKEEP_ADMIN_TOKEN: 'another-token-altogether' })).checks,
      'admin token',
      'fail',
      /unauthorized/,
      /TURNKEEP_ADMIN_TOKEN/,
    )
    const { TURNKEEP_ADMIN_TOKEN: _, ...tokenless } = environment
    says((await doctor(tokenless)).checks, 'admin token', 'fail', /no admin token found/)
    // The lock says that a server is running, so a server that does not answer is a failure.
    says((await doctor({ ...environment, PORT: String(await freePort()) })).checks, 'server', 'fail', /cannot reach/, /Check PORT/)
  })

  test('another program at its port fails', async (t) => {
    const { environment } = await stopped(t)
    const url = await behind(
      t,
      createServer((_request, response) => response.writeHead(404).end('<h1>no</h1>')),
    )
    const { checks } = await doctor({ ...environment, PORT: new URL(url).port })
    says(
      checks,
      'port',
      'fail',
      new RegExp(`in use by another program${process.platform === 'linux' ? `: .+, process ${process.pid}` : ''}$`),
      /Set PORT/,
    )
    says(checks, 'server', 'fail', /answers 404, but is not a Turnkeep server/)
  })

  test('one that drains, and one whose store is unavailable', () => {
    const ours = { kind: 'ours', status: 'ready', store: 'ok', skewMs: 0 } as const
    says(checkServer('http://x', { ...ours, status: 'draining' }, true), 'server', 'warn', /draining/, /Wait/)
    says(checkServer('http://x', { ...ours, store: 'unavailable' }, true), 'server', 'fail', /database is unavailable/, /log/)
  })

  test('clocks that differ warn', () => {
    says([checkClock(1_500)], 'clock', 'ok', /in sync/)
    says([checkClock(90_000)], 'clock', 'warn', /90 s ahead of/, /NTP/)
    says([checkClock(-90_000)], 'clock', 'warn', /90 s behind/, /NTP/)
    says([checkClock(NaN)], 'clock', 'warn', /no Date header/)
  })

  test('a proxy that buffers events fails, and one that passes them on does not', async (t) => {
    const folder = await makeFolder()
    const server = await startServer({ TURNKEEP_DATA_DIR: folder })
    t.after(async () => {
      await server.kill()
      rmSync(folder, { recursive: true, force: true })
    })
    const proxy = (holdsBack: boolean): Server =>
      createServer((incoming, outgoing) => {
        const { method, headers } = incoming
        const onward = ask(`${server.url}${incoming.url}`, { method: method!, headers }, (answer) => {
          outgoing.writeHead(answer.statusCode!, answer.headers)
          if (!holdsBack) return answer.pipe(outgoing)
          const pieces: Buffer[] = []
          answer.on('data', (piece: Buffer) => pieces.push(piece))
          return answer.on('end', () => outgoing.end(Buffer.concat(pieces)))
        })
        incoming.pipe(onward)
      })
    const environment = { TURNKEEP_DATA_DIR: folder, PORT: new URL(server.url).port }
    const held = await behind(t, proxy(true))
    says((await doctor({ ...environment, TURNKEEP_PUBLIC_URL: held })).checks, 'streaming', 'fail', /arrive all at once/, /buffering/)
    const passed = await behind(t, proxy(false))
    says((await doctor({ ...environment, TURNKEEP_PUBLIC_URL: passed })).checks, 'streaming', 'ok', /as they are sent/)
  })

  test('without --json it prints a line for each check, and how to fix it below', async (t) => {
    const { folder, environment } = await stopped(t)
    chmodSync(folder, 0o755)
    const { code, stdout } = await runCommand(['doctor'], environment)
    assert.equal(code, 0)
    assert.match(stdout, /^ok {4}node {10}Node /)
    assert.match(stdout, /\nwarn {2}data folder {3}.* \(mode 755\)\n {20}chmod 700 /)
    assert.match(stdout, /\n\n0 failed, 2 warnings\.\n$/)
  })
})
