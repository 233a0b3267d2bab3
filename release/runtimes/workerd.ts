/** The program in workerd, the runtime of Cloudflare Workers: a worker of its own with the client's built files, asked once over HTTP. */
import { spawn } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Service } from './installed.ts'

// What workerd does is decided by a date; this one is before that of its version.
const compatibilityDate = '2026-11-01'

/** What the program saw; rejects with what went wrong. `folder` has the packages and the program. */
export async function runInWorkerd(folder: string, program: string, service: Service): Promise<string[]> {
  const config = join(folder, 'workerd.capnp')
  writeFileSync(config, configOf(folder))
  const child = spawn(program, ['serve', config, '--control-fd=3'], { cwd: folder, stdio: ['ignore', 'inherit', 'pipe', 'pipe'] })
  let complaints = ''
  child.stderr!.setEncoding('utf8').on('data', (piece: string) => (complaints += piece))
  try {
    const port = await portOf(child.stdio[3] as Readable)
    if (port === undefined) throw new Error(complaints.trim())
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: JSON.stringify(service) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(text)
    return JSON.parse(text) as string[]
  } finally {
    child.kill('SIGKILL')
  }
}

/** Undefined where it ends without listening. */
async function portOf(control: Readable): Promise<number | undefined> {
  for await (const line of createInterface({ input: control })) {
    const { event, port } = JSON.parse(line) as { event: string; port?: number }
    if (event === 'listen') return port
  }
  return undefined
}

/** Modules have names and no files: the package's own stand below its name. */
function configOf(folder: string): string {
  const dist = 'node_modules/@turnkeep/client/dist'
  const manifest = JSON.parse(readFileSync(join(folder, 'node_modules/@turnkeep/client/package.json'), 'utf8')) as Manifest
  const layer = manifest.exports['.'].default.replace('./dist/', './client/')
  const modules = [
    ['worker.mjs', 'embed "worker.mjs"'],
    ['program.mjs', 'embed "program.mjs"'],
    ['@turnkeep/client', JSON.stringify(`export * from '${layer}'`)],
    ...globSync('**/*.js', { cwd: join(folder, dist) }).map((file) => [`@turnkeep/client/${file}`, `embed "${dist}/${file}"`]),
  ]
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .program),
    (name = "network", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const program :Workerd.Worker = (
  modules = [
${modules.map(([name, source]) => `    (name = "${name}", esModule = ${source}),`).join('\n')}
  ],
  compatibilityDate = "${compatibilityDate}",
  globalOutbound = "network",
);
`
}

type Manifest = { exports: { '.': { default: string } } }
