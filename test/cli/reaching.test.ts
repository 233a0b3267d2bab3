/** How a command finds its server and its token, what it prints when it does not, and every command's help. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { runCommand } from '../support/run-command.ts'
import { adminToken } from '../support/test-app.ts'

/** A server that is not Turnkeep, and the requests it received. */
async function strange(t: TestContext, answer: RequestListener): Promise<{ url: string; port: number; asked: IncomingMessage[] }> {
  const asked: IncomingMessage[] = []
  const server = createServer((request, response) => {
    asked.push(request)
    answer(request, response)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, asked }
}

function ownFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-cli-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const emptyPage: RequestListener = (_request, response) => response.end('{"data":[],"next_cursor":null}')
const token = { TURNKEEP_ADMIN_TOKEN: adminToken }

test('admin.limits: a command waits when its token has used its window, and repeats what was refused', async (t) => {
  const limited = { 'x-ratelimit-limit': '3000', 'retry-after': '0', 'content-type': 'application/json' }
  const error = { code: 'rate_limit_exceeded', message: 'Too many.', request_id: 'r' }
  let refusals = 2
  const { url, asked } = await strange(t, (request, response) => {
    if (refusals-- > 0) response.writeHead(429, limited).end(JSON.stringify({ error }))
    else emptyPage(request, response)
  })
  const { code, stderr } = await runCommand(['owner', 'list', '--url', url], token)
  assert.deepEqual([code, asked.length], [0, 3], stderr)
})

describe('the address', () => {
  test('is --url, else TURNKEEP_ADMIN_PORT, else TURNKEEP_PUBLIC_URL, else PORT', async (t) => {
    const { url, port, asked } = await strange(t, emptyPage)
    const nowhere = { PORT: '1', TURNKEEP_PUBLIC_URL: 'http://127.0.0.1:1', ...token }
    for (const [environment, ...flags] of [
      [{ ...nowhere, TURNKEEP_ADMIN_PORT: '1' }, '--url', `${url}/`],
      [{ ...nowhere, TURNKEEP_ADMIN_PORT: String(port) }],
      [{ ...token, PORT: '1', TURNKEEP_PUBLIC_URL: url }],
      [{ ...token, PORT: String(port), TURNKEEP_HOST: '0.0.0.0' }],
    ] as [Record<string, string>, ...string[]][]) {
      const { code, stderr } = await runCommand(['owner', 'list', ...flags], environment)
      assert.equal(code, 0, stderr)
      assert.equal(stderr, 'No results.\n')
    }
    assert.deepEqual(
      asked.map((request) => [request.url, request.headers.authorization]),
      Array.from({ length: 4 }, () => ['/admin/v1/owners?limit=100', `Bearer ${adminToken}`]),
    )
  })

  test('an unreachable address, a wrong one, and a setting of any free port are reported in one line, with exit code 2', async () => {
    for (const [environment, flags, says] of [
      [{ ...token, PORT: '2' }, [], /^turnkeep: cannot reach http:\/\/127\.0\.0\.1:2: connect ECONNREFUSED .*\(--url\)\.\n$/],
      [token, ['--url', 'nowhere'], /^turnkeep: --url must be an http or https URL/],
      [{ ...token, PORT: '0' }, [], /^turnkeep: cannot find the server: PORT is 0, .* Give its address with --url\.\n$/],
      [{ ...token, PORT: 'x' }, [], /^turnkeep: PORT: must be a whole number/],
    ] as const) {
      const { code, stdout, stderr } = await runCommand(['owner', 'list', ...flags], environment)
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, says)
    }
  })

  test('unrelated settings do not stop a command', async (t) => {
    const { url } = await strange(t, emptyPage)
    assert.equal((await runCommand(['owner', 'list', '--url', url], { ...token, DATABASE_URL: 'postgres://x', TURNKEEP_X: '1' })).code, 0)
  })

  test('another program and a redirect are distinguished from a refusal; the token goes no further', async (t) => {
    const { url } = await strange(t, (_request, response) => response.end('<h1>It works</h1>'))
    const html = await runCommand(['owner', 'list', '--url', url], token)
    assert.equal(html.code, 2)
    assert.match(html.stderr, /^turnkeep: not a Turnkeep server: http:\S+ answered 200\. Check the address \(--url\)\.\n$/)
    const moved = await strange(t, (_request, response) => response.writeHead(308, { location: 'http://127.0.0.1:1/' }).end())
    const redirect = await runCommand(['owner', 'list', '--url', moved.url], token)
    assert.equal(redirect.code, 2)
    assert.match(redirect.stderr, /answered 308 with a redirect to http:\/\/127\.0\.0\.1:1\/\. Give the address of the server with --url\./)
    assert.equal(moved.asked.length, 1)
  })

  test('a connection that breaks during a ledger entry: explains how to repeat it', async (t) => {
    const { url } = await strange(t, (request) => request.socket.destroy())
    const { code, stderr } = await runCommand(['ledger', 'add', 'own_x', '5', '--url', url], token)
    assert.equal(code, 2)
    const [, key] = /^Idempotency-Key: (\S+)\n/.exec(stderr) ?? []
    assert.ok(stderr.endsWith(`To retry safely, add --idempotency-key ${key}\n`), stderr)
  })
})

describe('the token', () => {
  test('is read from admin.token in the data folder', async (t) => {
    const folder = ownFolder(t)
    writeFileSync(join(folder, 'admin.token'), adminToken)
    const { url, asked } = await strange(t, emptyPage)
    assert.equal((await runCommand(['owner', 'list', '--url', url], { TURNKEEP_DATA_DIR: folder })).code, 0)
    assert.equal(asked[0]!.headers.authorization, `Bearer ${adminToken}`)
  })

  test('a missing token is requested in one line, with exit code 2', async (t) => {
    const { code, stderr } = await runCommand(['owner', 'list'], { TURNKEEP_DATA_DIR: ownFolder(t) })
    assert.equal(code, 2)
    assert.match(stderr, /^turnkeep: no admin token found: set TURNKEEP_ADMIN_TOKEN, or set TURNKEEP_DATA_DIR [^\n]+\n$/)
  })
})

describe('help', () => {
  test('of turnkeep lists every command and the exit codes', async () => {
    const { code, stdout } = await runCommand(['--help'])
    assert.equal(code, 0)
    for (const name of ['serve', 'owner', 'chat', 'verify']) assert.match(stdout, new RegExp(`^  ${name} `, 'm'))
    assert.match(stdout, /^Exit codes: 0 .*\n +1 .*\n +2 /m)
    assert.match((await runCommand(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/)
  })

  test('of a group lists its commands, of a command its flags, with an example and exit codes', async () => {
    for (const [args, says] of [
      [['help', 'owner'], /^ {2}rename <owner> <name> /m],
      [['owner', '--help'], /^ {2}rename <owner> <name> /m],
      [['owner', 'create', '--help'], /^ {2}--balance <usd> /m],
    ] as const) {
      const { code, stdout } = await runCommand([...args])
      assert.equal(code, 0)
      assert.match(stdout, says)
      assert.match(stdout, /\nExample:\n {2}npx --no-install turnkeep owner [^]*\nExit codes: 0 /)
    }
  })

  test('wrong usage ends with exit code 2 and says where help is', async () => {
    for (const args of [['chatt'], ['owner'], ['owner', 'create'], ['owner', 'list', '--limit', 'x'], ['usage', '--nope']]) {
      const { code, stdout, stderr } = await runCommand(args)
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, args.length === 1 && args[0] === 'owner' ? /^Usage: / : /^turnkeep: .*\n[^]*npx --no-install turnkeep help/)
    }
  })
})
