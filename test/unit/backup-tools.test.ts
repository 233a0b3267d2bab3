/** Which pg_dump writes a backup, if a machine has several. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BackupRefused, chooseTools } from '../../src/store/postgres/backup.ts'

const installed = (...versions: number[]) => versions.map((version) => ({ folder: `/pg${version}`, version }))

describe('backup: the pg_dump', () => {
  test('is the oldest one that supports the server, because its archive can be restored in most places', () => {
    assert.deepEqual(chooseTools(installed(17, 0, 14, 16, 15), 15), { folder: '/pg15' })
    assert.deepEqual(chooseTools(installed(18, 14, 16), 15), { folder: '/pg16' })
    assert.deepEqual(chooseTools(installed(19, 18), 17), { folder: '/pg18' })
  })

  test('of version 17 or newer for an older server is used with a warning that says what to do', () => {
    const { folder, warning } = chooseTools(installed(18, 17, 14), 16)
    assert.equal(folder, '/pg17')
    assert.match(
      warning!,
      /^the backup cannot be restored into PostgreSQL 16, because pg_dump 17 writes it: install .*postgresql-client-16/,
    )
    assert.match(warning!, /back up again, or restore into PostgreSQL 17 or newer$/)
  })

  test('is refused if no pg_dump supports the server', () => {
    const refused = (words: RegExp) => (error: unknown) => error instanceof BackupRefused && words.test(error.message)
    assert.throws(() => chooseTools(installed(0), 15), refused(/^pg_dump was not found: install .*postgresql-client-15/))
    assert.throws(() => chooseTools(installed(13, 14), 15), refused(/^pg_dump 14 is older than the database: install/))
  })
})
