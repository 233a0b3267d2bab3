/** The disk of a chaos run that can be filled immediately, and what the lock of a data folder reports on it. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { lockFolder } from '../../src/store/sqlite/lock.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { makeFolder } from '../support/test-app.ts'
import { makeDisk, noDisk } from './disk.ts'

void test(
  'fault.sqlite-disk-full a data folder that cannot be locked for want of space is a store that is away, and is locked once there is space',
  { skip: noDisk() },
  async (t) => {
    const folder = await makeFolder()
    const disk = makeDisk(join(folder, 'disk'))
    t.after(async () => {
      disk.remove()
      await rm(folder, { recursive: true })
    })
    writeFileSync(join(disk.folder, 'before'), 'x')
    disk.fill()
    assert.throws(() => writeFileSync(join(disk.folder, 'more'), 'x'), { code: 'ENOSPC' })
    assert.throws(() => lockFolder(disk.folder), StoreUnavailable)
    disk.free()
    lockFolder(disk.folder).close()
  },
)
