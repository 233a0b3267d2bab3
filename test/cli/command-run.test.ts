/**
 * Other tests run commands in their own process: the executable does the same in a process of its own, and runs at the same time share
 * nothing.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runCommand, runProcess } from '../support/run-command.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

const command = fileURLToPath(new URL('../../bin/turnkeep.js', import.meta.url))

describe('a command in this process', () => {
  let app: TestApp
  let environment: Record<string, string>
  before(async () => {
    app = await startTestApp()
    environment = { TURNKEEP_PUBLIC_URL: app.url, TURNKEEP_ADMIN_TOKEN: adminToken }
  })
  after(() => app.close())

  test('returns and prints what the executable does', async () => {
    const declaration = 'owners:\n  - name: Declared\n    agents: []\n'
    for (const [args, given, input, code] of [
      [['--version'], {}, '', 0],
      [['help', 'agent', 'create'], {}, '', 0],
      [['agnt'], {}, '', 2],
      [['owner'], {}, '', 2],
      [['owner', 'list', '--json'], environment, '', 0],
      [['owner', 'show', 'No one'], environment, '', 1],
      [['owner', 'list'], { ...environment, TURNKEEP_PUBLIC_URL: 'http://127.0.0.1:2' }, '', 2],
      [['apply', '-f', '-', '--dry-run', '--exit-code'], environment, declaration, 1],
      [['config'], { PORT: 'x' }, '', 2],
    ] as [string[], Record<string, string>, string, number][]) {
      const [here, apart] = await Promise.all([runCommand(args, given, input), runProcess(args, given, input)])
      assert.deepEqual(here, apart)
      assert.equal(here.code, code, args.join(' '))
    }
  })

  test('runs beside others, and leaves nothing in the process', async () => {
    const state = () => ({
      exitCode: process.exitCode,
      environment: { ...process.env },
      folder: process.cwd(),
      listeners: [process, process.stdin, process.stdout, process.stderr].map((emitter) =>
        emitter.eventNames().map((name) => [String(name), emitter.listenerCount(name as string)]),
      ),
    })
    const earlier = state()
    const names = Array.from({ length: 8 }, (_, index) => `name-${index}`)
    const ran = await Promise.all(
      names.flatMap((name) => [
        runCommand(['owner', 'create', name], environment),
        runCommand(['owner', 'show', `${name} of no one`], environment),
        runCommand(['owner', 'rename', name], environment),
        runCommand(['provider', 'create', name, '--kind', 'openai', '--base-url', 'http://127.0.0.1:1/v1'], environment, `sk-${name}`),
      ]),
    )
    for (const [index, name] of names.entries()) {
      const [made, unknown, invalid, provider] = ran.slice(index * 4, index * 4 + 4)
      assert.deepEqual([made!.code, unknown!.code, invalid!.code, provider!.code], [0, 1, 2, 0], JSON.stringify(provider))
      assert.match(made!.stdout, new RegExp(`^name +${name}$`, 'm'))
      assert.match(unknown!.stderr, new RegExp(`^turnkeep: no owner is named ${name} of no one`))
      assert.deepEqual([made!.stderr, unknown!.stdout, invalid!.stdout], ['', '', ''])
      assert.match(provider!.stdout, new RegExp(`^name +${name}$`, 'm'))
    }
    assert.deepEqual(state(), earlier)
  })
})

test('a reader that closes stdout early, as head does, ends the executable silently with exit code 0', async (t) => {
  const server = createServer((_request, response) => {
    // Now nothing has been printed yet.
    child.stdout.destroy()
    response.end('{"data":[],"next_cursor":null}')
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { PATH: process.env['PATH'] ?? '', TURNKEEP_ADMIN_TOKEN: adminToken }
  const child = spawn(process.execPath, [command, 'owner', 'list', '--json', '--url', url], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (stderr += piece))
  const [code] = await once(child, 'close')
  assert.deepEqual([code, stderr], [0, ''])
})
