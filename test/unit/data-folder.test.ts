/** Creating the data folder: every level for this user alone, and one clear line on failure. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openDataFolder } from '../../src/config/data-folder.ts'

const source = new URL('../../src/config/data-folder.ts', import.meta.url).href

describe('data folder', () => {
  test('is created with its parent folders, each with mode 0700, and opened again unchanged', (t) => {
    const root = mkdtempSync(join(tmpdir(), 'turnkeep-folder-'))
    t.after(() => rmSync(root, { recursive: true, force: true }))
    const path = join(root, 'a', 'b', 'c')
    assert.equal(openDataFolder(path).path, path)
    for (const made of [path, join(root, 'a', 'b'), join(root, 'a')]) assert.equal(statSync(made).mode & 0o777, 0o700)
    openDataFolder(path)
  })

  test('a dangling symbolic link is refused', (t) => {
    const root = mkdtempSync(join(tmpdir(), 'turnkeep-folder-'))
    t.after(() => rmSync(root, { recursive: true, force: true }))
    symlinkSync(join(root, 'nowhere'), join(root, 'link'))
    assert.throws(() => openDataFolder(join(root, 'link')), /cannot create the data folder .*: a file of this name exists/)
  })

  // In a separate process, so that an endless search fails the test instead of hanging it.
  test('below /proc is refused immediately', { skip: process.platform === 'linux' ? false : 'needs /proc of Linux' }, () => {
    for (const path of ['/proc/turnkeep', '/proc/turnkeep/data/folder']) {
      const code = `import { openDataFolder } from '${source}'; try { openDataFolder('${path}') } catch (error) { console.log(error.message) }`
      const { stdout, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', timeout: 10_000 })
      assert.equal(signal, null, 'it did not end')
      assert.match(stdout, /^cannot create the data folder \/proc\/turnkeep\S*: its parent cannot contain folders; set TURNKEEP_DATA_DIR/)
    }
  })
})
