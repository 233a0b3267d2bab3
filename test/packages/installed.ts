/**
 * A new user's project: an empty folder, both tarballs installed in it from npm's cache or the registry, and programs run there as a user
 * would.
 */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { packClient, packServer } from '../../release/pack.ts'
import type { Packed } from '../../release/pack.ts'

export type Project = {
  folder: string
  server: Packed
  client: Packed
  /** The contents of the folder's own node_modules, by path. */
  path(inside: string): string
  /** As typed in a terminal in this folder. Nothing of this process's environment is passed on but what npm needs. */
  run(words: string[], environment?: Record<string, string>): Promise<Ran>
  /** `npx --no-install turnkeep serve` on a free port with the demo; `ctrlC` is for the whole group, as a terminal sends it. */
  serve(): Promise<Served>
  remove(): void
}
export type Ran = { code: number | string | null; stdout: string; stderr: string }
export type Served = { url: string; agentId: string; curl: string; log(): string; ctrlC(): Promise<void> }

// npm finds its own settings, cache and registry with these.
const ofNpm = Object.entries(process.env).filter(([name]) => /^(?:HOME|npm_config_.*|https?_proxy|no_proxy)$/i.test(name))
const environment = { ...Object.fromEntries(ofNpm), PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) }
// npm waits five minutes for a stalled request; a second try usually succeeds immediately.
const quick = [
  '--prefer-offline',
  '--fetch-timeout=20000',
  '--fetch-retries=4',
  '--no-audit',
  '--no-fund',
  '--ignore-scripts',
  '--loglevel=error',
]

// A registry that stops responding would otherwise hang the whole test run: the call blocks the process.
const npmTimeoutMs = 240_000

export function makeProject(): Project {
  const packed = mkdtempSync(join(tmpdir(), 'turnkeep-packages-'))
  const folder = join(packed, 'project')
  mkdirSync(folder)
  const [server, client] = [packServer(packed), packClient(packed)]
  const npm = (words: string[]): void =>
    void execFileSync('npm', words, { cwd: folder, env: environment, stdio: ['ignore', 'ignore', 'inherit'], timeout: npmTimeoutMs })
  npm(['init', '--yes', '--loglevel=error'])
  npm(['install', ...quick, server.tarball, client.tarball])

  return {
    folder,
    server,
    client,
    path: (inside) => join(folder, 'node_modules', inside),
    run: ([program, ...words], more) =>
      new Promise((resolve) => {
        const options = { cwd: folder, env: { ...environment, ...more }, timeout: 120_000 }
        execFile(program!, words, options, (error, stdout, stderr) =>
          resolve({ code: error ? (error.code ?? error.signal ?? null) : 0, stdout, stderr }),
        )
      }),
    serve: () => serve(folder),
    remove: () => rmSync(packed, { recursive: true, force: true }),
  }
}

async function serve(folder: string): Promise<Served> {
  const env = { ...environment, PORT: '0' }
  const child = spawn('npx', ['turnkeep', 'serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const ended = once(child, 'close')
  const shown = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (piece: string) => (shown[stream] += piece))
  while (!/^curl [\s\S]+\n\n$/m.test(shown.stdout)) {
    const gone = await Promise.race([once(child.stdout, 'data').then(() => false), ended.then(() => true)])
    if (gone) throw new Error(`it ended before it was ready:\n${shown.stdout}${shown.stderr}`)
  }
  const [curl, url, agentId] = /^curl (\S+)\/v1\/agents\/([^/]+)[\s\S]+/m.exec(shown.stdout)!
  return {
    url: url!,
    agentId: agentId!,
    curl,
    log: () => shown.stderr,
    async ctrlC() {
      // Once they have all ended, the number may be another group's.
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGINT')
      await ended
    },
  }
}
