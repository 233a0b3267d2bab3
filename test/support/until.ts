/** Waits for what a test expects. */
import assert from 'node:assert/strict'
import { setTimeout as pass } from 'node:timers/promises'

/**
 * How long a test waits for what it expects, in milliseconds. A test of a planted fault waits less: it has to fail before its time is over
 * (test/mutants/judge.ts).
 */
export const maxWaitMs = Number(process.env['TEST_WAIT_MS'] ?? 60_000)

/** Polls until it is so, however slow the machine is, and fails with what did not happen. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, limitMs = maxWaitMs): Promise<void> {
  for (const limit = performance.now() + limitMs; !(await isSo()); await pass(10))
    assert.ok(performance.now() < limit, `${what}: not within ${limitMs} ms`)
}
