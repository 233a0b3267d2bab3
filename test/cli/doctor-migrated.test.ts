/** `turnkeep doctor` after a migration to PostgreSQL: it does not inspect the data folder that no server uses any more. */
import assert from 'node:assert/strict'
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { makeDatabase, noPostgres } from '../support/postgres-server.ts'
import { runCommand } from '../support/run-command.ts'
import { adminToken, makeFolder } from '../support/test-app.ts'

/** A data folder as a stopped server leaves it. */
async function stopped(t: TestContext): Promise<string> {
  const folder = await makeFolder()
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await (await openSqliteStore({ folder })).close()
  writeFileSync(join(folder, 'encryption.key'), Buffer.alloc(32, 1).toString('base64'), { mode: 0o600 })
  return folder
}

async function doctor(environment: Record<string, string>): Promise<Finding[]> {
  const { stdout, stderr } = await runCommand(['doctor', '--json'], environment)
  assert.equal(stderr, '')
  return JSON.parse(stdout).checks
}

const ofFolder = ['data folder', 'disk', 'secrets', 'folder lock', 'database', 'invariants']

function inspectsFolder(checks: Finding[]): boolean {
  const found = checks.filter(({ check }) => ofFolder.includes(check))
  assert.ok(found.length === 0 || found.length >= ofFolder.length - 1, JSON.stringify(checks))
  return found.length > 0
}

const storeOf = (checks: Finding[]): Finding => checks.find(({ check }) => check === 'store')!

describe('doctor without DATABASE_URL', () => {
  test(
    'after a copy: says where the data is now; a folder that a server has used since is inspected',
    { skip: noPostgres() },
    async (t) => {
      const folder = await stopped(t)
      const database = await makeDatabase()
      t.after(() => database.drop())
      const environment = { TURNKEEP_DATA_DIR: folder, PORT: '1' }
      assert.equal(inspectsFolder(await doctor(environment)), true)
      const url = new URL(database.url)
      if (url.password === '') url.password = 'geheim'
      const copied = await runCommand(['copy', '--to', url.href], environment)
      assert.equal(copied.code, 0, copied.stderr)
      const note = join(folder, 'copied-to-postgresql.json')
      assert.equal(statSync(note).mode & 0o777, 0o600)
      assert.ok(!readFileSync(note, 'utf8').includes(url.password))
      const checks = await doctor(environment)
      assert.equal(inspectsFolder(checks), false)
      const { status, says, fix } = storeOf(checks)
      assert.equal(status, 'warn')
      assert.match(
        says,
        new RegExp(
          `^${folder} was copied to postgres://\\S+${url.pathname} on \\d{4}-\\d\\d-\\d\\d and has not been used since: not inspected$`,
        ),
      )
      assert.equal(fix, 'Run doctor with the settings of the server, including DATABASE_URL. Then move the folder away.')
      // As a server does that starts on the folder again.
      const later = new Date(statSync(note).mtimeMs + 1000)
      utimesSync(join(folder, 'turnkeep.db'), later, later)
      assert.equal(inspectsFolder(await doctor(environment)), true)
    },
  )

  test('while a server on PostgreSQL runs: says that it does not use this folder', async (t) => {
    const folder = await stopped(t)
    let kind = 'postgres'
    const server = createServer((request, response) => {
      response.setHeader('content-type', 'application/json')
      const isStatus = request.url === '/admin/v1/status' && request.headers.authorization === `Bearer ${adminToken}`
      response.end(
        JSON.stringify(isStatus ? { store: { kind, state: 'ok' } } : { status: 'ready', store: 'ok', data: [], next_cursor: null }),
      )
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const environment = { TURNKEEP_DATA_DIR: folder, PORT: String(port), TURNKEEP_ADMIN_TOKEN: adminToken }
    const checks = await doctor(environment)
    assert.equal(inspectsFolder(checks), false)
    assert.deepEqual(storeOf(checks), {
      check: 'store',
      status: 'warn',
      says: `the running server uses PostgreSQL, and not ${folder}: not inspected`,
      fix: 'Run doctor with the settings of the server, including DATABASE_URL.',
    })
    kind = 'sqlite'
    assert.equal(inspectsFolder(await doctor(environment)), true)
  })
})
