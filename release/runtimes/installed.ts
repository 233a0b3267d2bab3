/** A folder with the client's tarball, the runtimes and the program, as a user's project would have it; and Node, Deno and Bun run in it. */
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

export type Service = { baseURL: string; agentId: string; apiKey: string }

/** Installs into the empty `folder`; no install script is run, the programs are in the packages as they are. */
export function install(folder: string, tarball: string, packages: Record<string, string>): void {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'runtimes', private: true, type: 'module' }))
  for (const file of ['main.mjs', 'program.mjs', 'worker.mjs']) cpSync(join(import.meta.dirname, file), join(folder, file))
  const wanted = Object.entries(packages).map(([name, version]) => `${name}@${version}`)
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  execFileSync('npm', ['install', ...flags, tarball, ...wanted], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** What the program saw; rejects with what went wrong. Nothing of our own environment is passed on: no setting of ours may help. */
export async function runHere(folder: string, program: string, words: string[], service: Service): Promise<string[]> {
  const run = promisify(execFile)(program, [...words, 'main.mjs', JSON.stringify(service)], {
    cwd: folder,
    env: { HOME: folder, NO_COLOR: '1' },
    timeout: 60_000,
  })
  // Its own words alone: the command line has the key in it.
  const { stdout } = await run.catch((error: { stderr: string; signal: string | null }) => {
    throw new Error(error.stderr.trim() || `ended by ${error.signal}`)
  })
  return JSON.parse(stdout) as string[]
}
