/** Waits for what a test expects. */
import assert from 'node:assert/strict'
import { setTimeout as pass } from 'node:timers/promises'

/** Polls until it is so, however slow the machine is, and fails with what did not happen. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, limitMs = 60_000): Promise<void> {
  for (const limit = performance.now() + limitMs; !(await isSo()); await pass(10))
    assert.ok(performance.now() < limit, `${what}: not within ${limitMs} ms`)
}
