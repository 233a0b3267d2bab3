/** Files that exist completely or not at all, whenever the process that writes them is killed. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import fs, { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { makeWhole } from '../../src/store/whole-file.ts'

function ownFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-whole-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes a file, and is killed instead of doing more than this many operations of the file system. */
const writeUntilKilled = (file: string, operations: number) => `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  let left = Infinity
  for (const name of Object.keys(fs).filter((one) => one.endsWith('Sync'))) {
    const real = fs[name]
    fs[name] = (...args) => (left-- > 0 ? real(...args) : process.kill(process.pid, 'SIGKILL'))
  }
  syncBuiltinESMExports()
  const { makeWhole } = await import('${import.meta.resolve('../../src/store/whole-file.ts')}')
  left = ${operations}
  await makeWhole(${JSON.stringify(file)}, async (partial) => fs.writeFileSync(partial, 'whole'))
  left = Infinity`

describe('a whole file', () => {
  test('has its name only with its content, whichever operation kill -9 interrupts', (t) => {
    const folder = ownFolder(t)
    const file = join(folder, 'file')
    for (let operations = 0; ; operations++) {
      const args = ['--input-type=module', '-e', writeUntilKilled(file, operations)]
      const { status, signal, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      if (status === 0) break
      assert.equal(signal, 'SIGKILL', stderr)
      if (existsSync(file)) assert.equal(readFileSync(file, 'utf8'), 'whole', `killed after ${operations} operations`)
      for (const name of readdirSync(folder)) rmSync(join(folder, name))
    }
    assert.deepEqual(readdirSync(folder), ['file'])
    assert.equal(readFileSync(file, 'utf8'), 'whole')
  })

  test('is written to a file system without hard links, too, and replaces no file there', async (t) => {
    const folder = ownFolder(t)
    const file = join(folder, 'file')
    const link = t.mock.method(fs, 'linkSync', () => {
      throw Object.assign(new Error('operation not permitted'), { code: 'EPERM' })
    })
    syncBuiltinESMExports()
    try {
      await makeWhole(file, async (partial) => writeFileSync(partial, 'first'))
      await assert.rejects(
        makeWhole(file, async (partial) => writeFileSync(partial, 'second')),
        { code: 'EEXIST' },
      )
    } finally {
      link.mock.restore()
      syncBuiltinESMExports()
    }
    assert.deepEqual(readdirSync(folder), ['file'])
    assert.equal(readFileSync(file, 'utf8'), 'first')
  })
})
