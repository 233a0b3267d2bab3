/** bin/turnkeep.js: the command under an older Node, and what happens to a server whose parent is killed. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'

const root = join(import.meta.dirname, '..')
const program = join(root, 'bin/turnkeep.js')
/** This Node, with the version and the abilities of an older one. */
const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } }); delete process.execve`
const olderNode = ['--import', `data:text/javascript,${encodeURIComponent(older)}`]

function ownFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-bin-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('bin/turnkeep.js', () => {
  test('what an old Node reads is ECMAScript 5 in a script, which every Node can parse', () => {
    for (const file of ['bin/turnkeep.js', 'bin/older-node.js']) {
      const code = readFileSync(join(root, file), 'utf8').replace(/^#!.*|\/\/.*$/gm, '')
      // In a text of the message, which is no code.
      const bare = code.replace(/'(?:[^'\\]|\\.)*'/g, "''")
      assert.doesNotMatch(bare, /=>|`|\?\.|\?\?|\.\.\.|\b(?:const|let|class|import|export|async|await|of)\b|catch \{|\bnode:/, file)
      assert.match(code, /'use strict'/)
      assert.doesNotMatch(code, /require\('node:/)
    }
    assert.deepEqual(JSON.parse(readFileSync(join(root, 'bin/package.json'), 'utf8')), { type: 'commonjs' })
  })

  test('an old Node without a Node 24 beside it: one line that says what to install, with exit code 2', (t) => {
    const folder = ownFolder(t)
    cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true })
    const { status, stdout, stderr } = spawnSync(process.execPath, [...olderNode, join(folder, 'bin/turnkeep.js'), 'serve'], {
      encoding: 'utf8',
    })
    assert.deepEqual([status, stdout], [2, ''])
    assert.equal(
      stderr,
      'turnkeep: Turnkeep requires Node 24, but this is Node 18.20.8. Install Node 24, or run `npm ci` here with optional dependencies.\n',
    )
  })

  test('an old Node with the Node 24 of the dependencies passes on arguments, output, exit code and SIGTERM', async (t) => {
    const usage = spawnSync(process.execPath, [...olderNode, program, 'owner', 'lst'], { encoding: 'utf8' })
    assert.deepEqual([usage.status, usage.stdout], [2, ''])
    assert.match(usage.stderr, /Did you mean list\?/)
    const { server, url } = await started(t, process.execPath, [...olderNode, program, 'serve'])
    server.kill('SIGTERM')
    assert.deepEqual(await once(server, 'exit'), [0, null])
    await unreachable(url)
  })

  test('kill -9 of the old Node that started the server ends the server', async (t) => {
    const { server, url } = await started(t, process.execPath, [...olderNode, program, 'serve'])
    server.kill('SIGKILL')
    await once(server, 'exit')
    await unreachable(url)
  })

  test('kill -9 of npm, which starts the server through a shell, ends the server', { skip: process.platform !== 'linux' }, async (t) => {
    // Like npm, this names itself and runs a shell, which waits for the program.
    const npm = `process.title = 'npm start'
      require('node:child_process').spawn('sh', ['-c', '"$0" "$1" serve', process.execPath, ${JSON.stringify(program)}], { stdio: 'inherit' })`
    const { server, url } = await started(t, process.execPath, ['-e', npm], { npm_command: 'start' })
    server.kill('SIGKILL')
    await once(server, 'exit')
    await unreachable(url)
  })

  test('a server in the background of an npm script does not end with npm', { skip: process.platform !== 'linux' }, async (t) => {
    const npm = `process.title = 'npm run'
      require('node:child_process').spawn('sh', ['-c', '"$0" "$1" serve & wait', process.execPath, ${JSON.stringify(program)}], { stdio: 'inherit' })`
    const { server, url, pid } = await started(t, process.execPath, ['-e', npm], { npm_command: 'run' })
    server.kill('SIGKILL')
    await once(server, 'exit')
    // Longer than the interval at which a server looks for its parent.
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
    process.kill(await pid(), 'SIGTERM')
    await unreachable(url)
  })
})

/** Resolves when the server responds. `pid` is that of the process that listens. */
async function started(t: TestContext, node: string, args: string[], environment: Record<string, string> = {}) {
  const folder = ownFolder(t)
  const env = {
    PATH: process.env['PATH'] ?? '',
    NODE_ENV: 'test',
    TURNKEEP_DATA_DIR: folder,
    TURNKEEP_DEMO: 'off',
    PORT: '0',
    ...environment,
  }
  const server = spawn(node, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => server.kill('SIGKILL'))
  let log = ''
  const url = await new Promise<string>((resolve, reject) => {
    server.stderr.setEncoding('utf8').on('data', (piece: string) => {
      log += piece
      const [, found] = /"url":"([^"]+)".*"msg":"listening"/.exec(log) ?? []
      if (found !== undefined) resolve(found)
    })
    server.once('exit', () => reject(new Error(log)))
  })
  const pid = async (): Promise<number> => Number(/"pid":(\d+)/.exec(log)?.[1] ?? (await listenerOf(url)))
  return { server, url, pid }
}

/** The process that listens at an address, from the tables of Linux. */
async function listenerOf(url: string): Promise<number> {
  const { findPortHolder } = await import('../src/cli/doctor/port-holder.ts')
  return findPortHolder(Number(new URL(url).port))!.pid
}

/** Resolves when nothing listens there any more; the test runner ends a test that takes too long. */
async function unreachable(url: string): Promise<void> {
  while (
    await fetch(`${url}/healthz`).then(
      () => true,
      () => false,
    )
  )
    await new Promise((resolve) => setTimeout(resolve, 50))
}
