/** `turnkeep verify` as the admin module runs it: which outputs count as a result, which do not, and that nothing outlives its server. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { createVerification } from '../../src/admin/verification.ts'
import { readConfig, storeEnvironment } from '../../src/config/config.ts'

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-verification-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

/** What the command runs before its own code. */
function before(t: TestContext, code: string): Record<string, string> {
  const file = join(makeFolder(t), 'before.mjs')
  writeFileSync(file, code)
  return { NODE_OPTIONS: `--import=${file}` }
}

function start(t: TestContext, more: Record<string, string> = {}) {
  const folder = makeFolder(t)
  const logged: Record<string, unknown>[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(JSON.parse(line)) })
  const closing = new AbortController()
  const environment = { TURNKEEP_DATA_DIR: folder, ...more }
  return { folder, logged, closing, verify: createVerification({ environment, closing: closing.signal, log, now: () => 7 }) }
}

void test('verify: an unreadable store is service_unavailable, once for all concurrent requests; the log has the cause', async (t) => {
  const { folder, logged, verify } = start(t)
  const [first, second] = [verify(), verify()]
  assert.equal(first, second)
  await assert.rejects(first, { code: 'service_unavailable' })
  assert.deepEqual([logged.length, logged[0]!['exit_code']], [1, 2])
  assert.ok(String(logged[0]!['reason']).includes(folder))
  assert.notEqual(verify(), first, 'it is asked anew')
  await assert.rejects(verify(), { code: 'service_unavailable' })
})

void test(
  'verify: a verification that is ended by a closing server is service_unavailable, and none starts after it',
  { timeout: 20_000 },
  async (t) => {
    const { logged, closing, verify } = start(t, before(t, 'await new Promise((resolve) => setTimeout(resolve, 60_000))'))
    const asked = verify()
    closing.abort()
    await assert.rejects(asked, { code: 'service_unavailable' })
    await assert.rejects(verify(), { code: 'service_unavailable' })
    assert.deepEqual(logged, [], 'nothing is wrong')
  },
)

void test('verify: a command that crashes or prints something else gives no result, and none of its output is returned', async (t) => {
  for (const code of [`throw new Error('dead')`, `console.log('{"ok":true}'); process.exit(0)`]) {
    const { verify } = start(t, before(t, code))
    await assert.rejects(verify(), /turnkeep verify exited with code [01] without a result/)
  }
})

void test("verify: the command receives the store's settings and unrelated variables, and no other setting, especially no secret", () => {
  const given = {
    DATABASE_URL: 'postgres://u:p@db/turnkeep',
    TURNKEEP_ADMIN_TOKEN: 'a-token-of-the-admin',
    TURNKEEP_ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    OPENAI_API_KEY: 'sk-openai',
    TURNKEEP_DATA_DIR: '/data',
    PORT: '0',
  }
  const outcome = readConfig(given)
  assert.ok(outcome.kind === 'config', JSON.stringify(outcome))
  const reported = storeEnvironment(outcome.config, { ...given, NODE_EXTRA_CA_CERTS: '/ca.pem' })
  assert.deepEqual(reported, { DATABASE_URL: given.DATABASE_URL, TURNKEEP_DATA_DIR: '/data', NODE_EXTRA_CA_CERTS: '/ca.pem' })
})
