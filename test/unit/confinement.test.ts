/** How the process that reads documents is confined, when the system cannot even try it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { confinement as Confinement } from '../../src/process/confinement.ts'

void test('documents: a confinement that cannot be tried is a reason for the operator, and not an error', async (t) => {
  // As for a lack of memory, Node throws before it has started a process.
  const { execPath } = process
  process.execPath = 'a\0b'
  t.after(() => (process.execPath = execPath))
  const another = `${import.meta.resolve('../../src/process/confinement.ts')}?untried`
  const { confinement } = (await import(another)) as { confinement: typeof Confinement }
  const { command, words } = await confinement()
  assert.deepEqual(command, [])
  assert.match(words, /does not allow namespaces \(.*null bytes|no namespaces|not installed/)
})
