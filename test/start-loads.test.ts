/** Packages that a start does not need are not loaded: one that returns to the start path slows every start, and this test reports it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const program = join(import.meta.dirname, '../bin/turnkeep.js')

/** Each logs a line for every file of a package that the main thread loads. */
const watcher = (list: string): string => `
  import { appendFileSync } from 'node:fs'
  import { registerHooks } from 'node:module'
  import { isMainThread } from 'node:worker_threads'
  if (isMainThread) registerHooks({
    load(url, context, next) {
      const [, path] = /.*\\/node_modules\\/(.*)/.exec(url) ?? []
      if (path !== undefined) appendFileSync(${JSON.stringify(list)}, path + '\\n')
      return next(url, context)
    },
  })`

void test('a start loads no package that only a first request or a rare one needs', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-loads-'))
  const [list, hooks] = [join(folder, 'loaded'), join(folder, 'watch.mjs')]
  await writeFile(hooks, watcher(list))
  const server = spawn(process.execPath, ['--import', hooks, program, 'serve'], {
    env: { PATH: process.env['PATH'], PORT: '0', TURNKEEP_DATA_DIR: join(folder, 'data') },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  server.stderr.setEncoding('utf8').on('data', (piece: string) => {
    log += piece
    if (log.includes('"msg":"listening"')) server.kill('SIGTERM')
  })
  const [code] = await once(server, 'close')
  assert.equal(code, 0, log)
  const loaded = (await readFile(list, 'utf8')).split('\n')
  await rm(folder, { recursive: true })

  assert.ok(loaded.includes('fastify/fastify.js'), 'what is loaded is seen')
  const late = [
    'typebox/',
    'ajv/',
    'fast-json-stringify/index.js',
    '@opentelemetry/',
    'undici/index.js',
    '@ai-sdk/',
    '@modelcontextprotocol/',
    'zod/',
    'pg/',
    'ioredis/',
    'commander/',
    '@simplewebauthn/',
    '@peculiar/',
    'openid-client/',
    'oauth4webapi/',
    '@fastify/swagger/',
    'json-schema-resolver/',
    'yaml/',
  ]
  const documents = ['mammoth/', 'linkedom/', 'turndown/', 'unpdf/', 'yauzl/', '@mozilla/', '@pydantic/']
  for (const name of [...late, ...documents]) assert.deepEqual(loaded.filter((file) => file.startsWith(name)).slice(0, 3), [], name)
})
