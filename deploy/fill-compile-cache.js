// For the image and after `npm ci`: starts the server once, with a data folder of its own, and ends it as it will be ended; then reads what
// only a start with DATABASE_URL, REDIS_URL or a first request would read. Node keeps what it compiled in node_modules/.cache/turnkeep, for this
// user and this version of Node, so that the first start takes half the time. Fails where the server does not start or does not end well.
// With --or-say-why-not it says so and succeeds, because an install must not fail for it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const app = join(import.meta.dirname, '..')
const longestMs = 60_000

async function fill() {
  await startOnce()
  module.enableCompileCache(join(app, 'node_modules/.cache/turnkeep'))
  for (const file of ['store/postgres/postgres.ts', 'access/redis-window.ts', 'access/store-window.ts', 'process/workers.ts'])
    await import(join(app, 'src', file))
  // What a first request loads: the compiler of its schema.
  const ofApp = createRequire(join(app, 'package.json'))
  createRequire(ofApp.resolve('fastify'))('@fastify/ajv-compiler')()({}, { customOptions: {} })
}

async function startOnce() {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-'))
  try {
    const server = spawn(process.execPath, [join(app, 'bin/turnkeep.js'), 'serve'], {
      env: { PATH: process.env.PATH, PORT: '0', TURNKEEP_HOST: '127.0.0.1', TURNKEEP_DATA_DIR: folder },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: longestMs,
      killSignal: 'SIGKILL',
    })
    let log = ''
    server.stderr.setEncoding('utf8').on('data', (piece) => {
      log += piece
      if (log.includes('"msg":"listening"')) server.kill('SIGTERM')
    })
    const [code] = await once(server, 'close')
    if (code !== 0) throw new Error(`the server ended with ${code ?? 'a signal'} and said:\n${log}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

try {
  await fill()
} catch (error) {
  const mayFail = process.argv.includes('--or-say-why-not')
  process.stderr.write(
    mayFail ? `The compile cache is not filled, so the first start takes longer: ${error.message}\n` : `${error.stack}\n`,
  )
  process.exit(mayFail ? 0 : 1)
}
