/** Commands whose database does not exist, is another one or rejects them: one line that an operator can act on, soon. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { runCommand } from '../support/run-command.ts'
import { showServer } from '../support/shown-server.ts'
import { adminToken, makeFolder } from '../support/test-app.ts'

const secrets = { TURNKEEP_ADMIN_TOKEN: adminToken, TURNKEEP_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') }

async function verify(environment: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runCommand(['verify'], environment)
  assert.deepEqual([code, stdout], [2, ''])
  return stderr
}

async function ownFolder(t: TestContext): Promise<string> {
  const folder = await makeFolder()
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * Follows PostgreSQL's protocol until it has requested a password, and then waits forever. Resolves `hungUp` when the client has
 * disconnected.
 */
async function askingForPassword(t: TestContext): Promise<{ url: string; hungUp: Promise<unknown> }> {
  const gone = Promise.withResolvers<unknown>()
  const said = (code: number, text: string): Buffer => {
    const message = Buffer.alloc(9 + Buffer.byteLength(text))
    message.write('R', 0)
    message.writeInt32BE(message.length - 1, 1)
    message.writeInt32BE(code, 5)
    message.write(text, 9)
    return message
  }
  const server = createServer((socket: Socket) => {
    socket.once('data', () => {
      socket.write(said(10, 'SCRAM-SHA-256\0\0'))
      socket.once('data', () => socket.write(said(11, 'r=x,s=eA==,i=4096')))
    })
    socket.on('close', gone.resolve).on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { url: `postgres://ann@127.0.0.1:${(server.address() as AddressInfo).port}/turnkeep`, hungUp: gone.promise }
}

describe('turnkeep verify without a database to read', () => {
  test('reports whether there is none, it is damaged, of a newer Turnkeep, older, or out of reach', async (t) => {
    const folder = await ownFolder(t)
    const environment = { TURNKEEP_DATA_DIR: folder }
    assert.match(
      await verify(environment),
      /^turnkeep: no database in .*: either no server has been started on this folder yet, or TURNKEEP_DATA_DIR is wrong/,
    )
    await (await openSqliteStore({ folder })).close()
    const sql = (text: string): void => {
      const db = new DatabaseSync(join(folder, 'turnkeep.db'))
      db.exec(text)
      db.close()
    }
    sql(`drop table ledger; insert into migrations values ('9999-from-the-future.sql', '', 0)`)
    assert.match(await verify(environment), /a newer version of Turnkeep migrated it \(9999-from-the-future\.sql\)\. Use that version\.\n$/)
    sql(`delete from migrations`)
    assert.match(await verify(environment), /its schema is older than this version of Turnkeep\. Start the server once/)
    writeFileSync(join(folder, 'turnkeep.db'), 'no database at all, but long enough to be taken for the header of one. '.repeat(20))
    assert.match(
      await verify(environment),
      /cannot read the database in .*not a database\nRun this as the user of the server\. If the file is damaged/,
    )
    assert.match(
      await verify({ DATABASE_URL: 'postgres://me:geheim@127.0.0.1:1/x' }),
      /^turnkeep: cannot verify the database at postgres:\/\/me:…@127\.0\.0\.1:1\/x: connect ECONNREFUSED.*\nCheck DATABASE_URL/,
    )
  })
})

describe('DATABASE_URL', () => {
  test('an invalid server address is refused', async () => {
    for (const url of ['postgresql:/foo', 'postgres:foo'])
      assert.match(await verify({ DATABASE_URL: url }), /^turnkeep: DATABASE_URL: must be a URL such as/)
  })

  test('without the required password: every command ends immediately and says where to set it', { timeout: 120_000 }, async (t) => {
    const words = /it requires a password: set it in the URL, in PGPASSWORD or in ~\/\.pgpass/
    for (const args of [['verify'], ['doctor'], ['backup', join(await ownFolder(t), 'x.dump')]]) {
      const { url, hungUp } = await askingForPassword(t)
      const { code, stdout, stderr } = await runCommand(args, { ...secrets, PORT: '1', DATABASE_URL: url })
      await hungUp
      assert.equal(code, args[0] === 'doctor' ? 1 : 2)
      assert.match(stdout + stderr, words, args[0])
    }
  })

  test('a server that does not respond: a start logs that it waits for it', async () => {
    const server = showServer({ ...secrets, DATABASE_URL: 'postgres://me:geheim@127.0.0.1:1/x' })
    await server.shows('stderr', /waiting for the database/)
    await server.stop()
  })
})
