/** `operator.recovery`: `turnkeep operator recover` makes a link that the server accepts, without a running server or a database. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ConsoleBrowser, goodPassword, tokenOf } from '../support/operators.ts'
import { runCommand } from '../support/run-command.ts'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

let app: TestApp
let folder: string
before(async () => {
  app = await startTestApp()
  folder = await mkdtemp(join(tmpdir(), 'turnkeep-recover-'))
})
after(async () => {
  await app.close()
  await rm(folder, { recursive: true })
})

const keyText = (): string => Buffer.from(app.encryptionKey).toString('base64')
const recover = (args: string[] = [], environment: Record<string, string> = {}) =>
  runCommand(['operator', 'recover', ...args], { TURNKEEP_DATA_DIR: folder, ...environment })

test('operator.recovery: the link is alone on stdout, and makes an admin in the running server', async () => {
  await writeFile(join(folder, 'encryption.key'), keyText())
  const { code, stdout, stderr } = await recover([], { TURNKEEP_CONSOLE_URL: 'https://console.acme.example' })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^https:\/\/console\.acme\.example\/console\/recovery#svc_recover_[\w-]+\n$/)
  assert.match(stderr, /within 15 minutes; it is accepted once/)
  const browser = new ConsoleBrowser(app.adminUrl)
  await browser.made('POST', '/session/recovery', { token: tokenOf(stdout.trim()), email: 'ada@acme.example', password: goodPassword })
  assert.equal((await browser.made('GET', '/me')).role, 'admin')
})

test('operator.recovery: the newest of several keys signs, and the address is that of the settings or of --url', async () => {
  const keys = `${keyText()},${Buffer.alloc(32, 7).toString('base64')}`
  const { stdout } = await recover(['--json', '--url', 'http://localhost:9999/'], { TURNKEEP_ENCRYPTION_KEY: keys })
  const { recovery_url: url, expires_at: end } = JSON.parse(stdout) as { recovery_url: string; expires_at: string }
  assert.match(url, /^http:\/\/localhost:9999\/console\/recovery#/)
  const lasts = Date.parse(end) - Date.now()
  assert.ok(lasts > 13 * 60_000 && lasts <= 15 * 60_000, end)
  await new ConsoleBrowser(app.adminUrl).made('POST', '/session/recovery', {
    token: tokenOf(url),
    email: 'grace@acme.example',
    password: goodPassword,
  })
  for (const [environment, base] of [
    [{ PORT: '8123' }, 'http://127.0.0.1:8123'],
    [{ TURNKEEP_PUBLIC_URL: 'https://chat.acme.example' }, 'https://chat.acme.example'],
    [{ TURNKEEP_PUBLIC_URL: 'https://chat.acme.example', TURNKEEP_ADMIN_PORT: '8124' }, 'http://127.0.0.1:8124'],
  ] as const)
    assert.ok((await recover([], environment)).stdout.startsWith(`${base}/console/recovery#`), base)
})

test('operator.recovery: without a readable key it says which file, and what to do', async () => {
  const missing = await recover([], { TURNKEEP_DATA_DIR: join(folder, 'nowhere') })
  assert.equal(missing.code, 2)
  assert.match(
    missing.stderr,
    /^turnkeep: cannot read the encryption key in \S+nowhere\S+ \(ENOENT\): run this with the environment of the server/,
  )
  await writeFile(join(folder, 'encryption.key'), 'nonsense')
  const damaged = await recover()
  assert.equal(damaged.code, 2)
  assert.match(damaged.stderr, /does not contain a 32-byte key in base64/)
})
