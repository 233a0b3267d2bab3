/**
 * `npm run dev` on a copy of the sources, so that a file can be changed and broken: restart, hot reload, sign-in through the proxy, and the
 * end.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { showProgram } from '../support/shown-program.ts'
import type { ShownProgram } from '../support/shown-program.ts'

const root = join(import.meta.dirname, '../..')
const token = 'a-token-for-development'

/** A working copy with these dependencies. */
function copyOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-dev-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const isCopied = (path: string): boolean => !/node_modules|\/dist(\/|$)/.test(path.slice(root.length))
  for (const name of ['src', 'dev', 'docs/errors', 'packages/console', 'packages/client/src', 'package.json'])
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: isCopied })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Its output, and its URLs when it is ready. It is ended with the test. */
function startDev(t: TestContext, folder: string, environment: Record<string, string> = {}): ShownProgram {
  const given = {
    TURNKEEP_DATA_DIR: join(folder, 'data'),
    TURNKEEP_ADMIN_TOKEN: token,
    PORT: '0',
    TURNKEEP_LOG_LEVEL: 'silent',
    ...environment,
  }
  const dev = showProgram(join(folder, 'dev/dev.ts'), [], given)
  t.after(() => void dev.child.kill('SIGKILL'))
  return dev
}

async function addressesOf(dev: ShownProgram): Promise<{ api: string; hot: string }> {
  await dev.shows('stdout', /Press Ctrl-C to stop/)
  const line = (name: string): string => new RegExp(`^ {2}${name} +(\\S+)`, 'm').exec(dev.shown.stdout)![1]!
  return { api: line('API'), hot: new URL(line('console')).origin }
}

const call = async (url: string, init: RequestInit = {}): Promise<string> => {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(120_000) })
  return `${response.status} ${await response.text()}`
}

const isGone = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => false,
    () => true,
  )

describe('dev', () => {
  test('dev: a saved file restarts the server with its port and data, a broken one waits for the next save, and Ctrl-C leaves nothing', async (t) => {
    const folder = copyOf(t)
    const dev = startDev(t, folder)
    const { api, hot } = await addressesOf(dev)
    assert.match(await call(`${api}/healthz`), /^200 \{"status":"alive"\}/)
    assert.match(await call(`${hot}/console/`), /^200 [\s\S]*\/console\/@vite\/client/)
    assert.match(await call(`${hot}/healthz`), /^200/)

    // As a browser does it: the cookie counts only if Origin and Host are the same.
    const page = { origin: hot, 'sec-fetch-site': 'same-origin', 'x-turnkeep-console': '1', 'content-type': 'application/json' }
    const signIn = await fetch(`${hot}/admin/v1/session`, { method: 'POST', headers: page, body: JSON.stringify({ token }) })
    assert.equal(signIn.status, 201)
    const cookie = signIn.headers.get('set-cookie')!.split(';')[0]!
    const body = JSON.stringify({ name: 'Made through the proxy' })
    assert.match(await call(`${hot}/admin/v1/owners`, { method: 'POST', headers: { ...page, cookie }, body }), /^201/)

    const source = join(folder, 'src/http/edge/status-routes.ts')
    const original = readFileSync(source, 'utf8')
    writeFileSync(source, original.replace("'alive'", "'changed'"))
    await dev.shows('stdout', /Restarted: src\/http\/edge\/status-routes\.ts was saved\./)
    assert.match(await call(`${api}/healthz`), /"changed"/)
    assert.match(await call(`${api}/admin/v1/owners`, { headers: { authorization: `Bearer ${token}` } }), /Made through the proxy/)

    writeFileSync(source, `${original}\nconst = 1\n`)
    await dev.shows('stderr', /could not start \(exit code 1\); waiting for the next save/)
    assert.match(await call(`${hot}/healthz`), /^502/)
    writeFileSync(source, original)
    await dev.shows('stdout', /Restarted: [\s\S]*Restarted: /)
    assert.match(await call(`${api}/healthz`), /"alive"/)

    dev.child.kill('SIGINT')
    assert.deepEqual(await dev.ended, { code: 0, signal: null }, dev.shown.stderr)
    assert.deepEqual(await Promise.all([isGone(api), isGone(hot)]), [true, true])
  })

  test('dev: the server ends with its parent, also when the parent is killed', async (t) => {
    const folder = copyOf(t)
    const dev = startDev(t, folder)
    const { api } = await addressesOf(dev)
    dev.child.kill('SIGKILL')
    while (!(await isGone(api))) await new Promise((resolve) => setTimeout(resolve, 20))
  })

  test('dev: a taken port ends the start with one line that names it', async (t) => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    t.after(() => other.close())
    const { port } = other.address() as AddressInfo
    const folder = mkdtempSync(join(tmpdir(), 'turnkeep-dev-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const environment = { TURNKEEP_DATA_DIR: folder, PORT: String(port), TURNKEEP_LOG_LEVEL: 'silent' }
    const { child, shown, ended } = showProgram(join(root, 'dev/dev.ts'), [], environment)
    t.after(() => void child.kill('SIGKILL'))
    assert.equal((await ended).code, 2)
    assert.equal(shown.stderr, `turnkeep: 127.0.0.1:${port} is in use by another program; set PORT to a free one\n`)
  })

  test('dev: a refused setting ends the start with one line that names it', async () => {
    const { shown, ended } = showProgram(join(root, 'dev/dev.ts'), [], { TURNKEEP_PROT: '1' })
    assert.equal((await ended).code, 2)
    assert.match(shown.stderr, /^dev: TURNKEEP_PROT: unknown setting; /)
  })
})
