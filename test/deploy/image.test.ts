/**
 * deploy/Dockerfile does what it says: its files exist and no others, one Node, no root; and the tree that it creates serves from a
 * read-only file system, as process 1 and with only read permission. The build itself was run by hand (docs/operate/docker.md).
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readConfig } from '../../src/config/config.ts'
import { makeDatabase, noPostgres } from '../support/postgres-server.ts'
import { copiesOf, environmentOf, isSent, valuesOf } from './dockerfile.ts'
import { args, build, image, imageUser, page, makeImageRoot, stages, withoutRoot } from './image-root.ts'
import type { ImageRoot, Running } from './image-root.ts'

const project = join(import.meta.dirname, '../..')
const dockerignore = readFileSync(join(project, '.dockerignore'), 'utf8')
const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
  version: string
  bin: Record<string, string>
  optionalDependencies: Record<string, string>
}

void test('image: all stages use one pinned Node, the one that the dependencies bring', () => {
  assert.deepEqual(
    stages.map(({ alias }) => alias),
    ['console', 'build', undefined],
  )
  for (const { from } of stages) assert.equal(from, `node:${args['NODE_VERSION']}-bookworm-slim`)
  for (const [name, version] of Object.entries(manifest.optionalDependencies)) assert.equal(version, args['NODE_VERSION'], name)
  const [install] = valuesOf(build, 'RUN')
  for (const flag of ['npm ci ', '--omit=dev', '--omit=optional', '--ignore-scripts']) assert.ok(install!.includes(flag), flag)
})

void test('image: what is copied exists and is in the build context; nothing else is', () => {
  const copied = stages.flatMap((stage) => copiesOf(stage)).filter(({ from }) => from === undefined)
  const sources = copied.flatMap((copy) => copy.sources)
  for (const source of sources) {
    assert.ok(existsSync(join(project, source)), source)
    assert.ok(isSent(dockerignore, source), `${source} is not sent to the build`)
  }
  // Of the files that the console is built from, the server needs only the output, and npm the manifest.
  const made = stages.flatMap((stage) => copiesOf(stage)).filter(({ from }) => from === 'console')
  assert.deepEqual(made.flatMap((copy) => copy.sources).toSorted(), ['/app/packages/console/dist', '/app/packages/console/package.json'])
  assert.ok(valuesOf(page, 'RUN').some((step) => step.endsWith('npm run build:console')))
  const allowed = dockerignore.split('\n').filter((line) => line.startsWith('!'))
  assert.deepEqual(allowed.map((line) => line.slice(1)).toSorted(), [...new Set(sources)].toSorted())
  for (const secret of [
    '.turnkeep/admin.token',
    '.env',
    'node_modules/pg/package.json',
    '.git/config',
    'test/run.ts',
    'deploy/.env',
    'packages/console/dist/index.html',
  ])
    assert.ok(!isSent(dockerignore, secret), secret)
})

void test('image: a numeric user, the signal goes to the server itself, the settings are ones the server knows', () => {
  assert.ok(imageUser > 0)
  assert.match(valuesOf(image, 'USER').at(-1)!, /^\d+:\d+$/)
  assert.ok(image.steps.findLastIndex(({ name }) => name === 'RUN') < image.steps.findLastIndex(({ name }) => name === 'USER'))
  assert.deepEqual(valuesOf(image, 'STOPSIGNAL'), ['SIGTERM'])
  const entry = JSON.parse(valuesOf(image, 'ENTRYPOINT')[0]!) as string[]
  assert.deepEqual(entry, ['node', `/app/${manifest.bin['turnkeep']}`])
  assert.deepEqual(JSON.parse(valuesOf(image, 'CMD')[0]!), ['serve'])
  const outcome = readConfig(environmentOf(image))
  assert.ok(outcome.kind === 'config', JSON.stringify(outcome))
  assert.deepEqual(valuesOf(image, 'EXPOSE'), [String(outcome.config.port)])
  assert.ok(valuesOf(image, 'RUN').some((step) => step.endsWith(` ${outcome.config.dataFolder}`) && step.includes(`-o ${imageUser}`)))
})

void describe('image: from a read-only root, as process 1 and without privileges', { skip: withoutRoot(), timeout: 240_000 }, () => {
  let root: ImageRoot
  before(() => void (root = makeImageRoot()))
  after(() => root?.remove())

  void test('one Node, and no more than it needs', () => {
    assert.deepEqual(globSync('app/node_modules/node-*', { cwd: root.path }), [])
    // 67 MB as it is; a Node of its own would be 189 more.
    assert.ok(root.appBytes < 100_000_000, `${root.appBytes} bytes`)
  })

  void test('serves with the embedded database in a volume, is healthy meanwhile, and exits cleanly at SIGTERM', async (t) => {
    const server = await root.run(t, { PORT: '0' }, { dataFolder: true })
    assert.deepEqual(writablePlaces(server.pid), ['/data', '/dev', '/proc'])
    const healthcheck = JSON.parse(/CMD (\[.*\])$/.exec(valuesOf(image, 'HEALTHCHECK')[0]!)![1]!) as string[]
    assert.equal(healthcheck.shift(), 'node')
    const healthy = (): number | null => spawnSync(process.execPath, healthcheck, { env: { PORT: new URL(server.url).port } }).status
    assert.equal(healthy(), 0)
    await seemsWell(server)
    assert.equal(await server.stop(), 0, server.log())
    assert.equal(healthy(), 1)
  })

  void test('serves with DATABASE_URL and no writable file system, and exits cleanly at SIGTERM', { skip: noPostgres() }, async (t) => {
    const database = await makeDatabase()
    t.after(() => database.drop())
    const secrets = { TURNKEEP_ADMIN_TOKEN: 'an-admin-token-of-a-test', TURNKEEP_ENCRYPTION_KEY: randomBytes(32).toString('base64') }
    const server = await root.run(t, { PORT: '0', DATABASE_URL: database.url, ...secrets })
    assert.deepEqual(writablePlaces(server.pid), ['/dev', '/proc'])
    await seemsWell(server)
    assert.equal(await server.stop(), 0, server.log())
  })
})

async function seemsWell(server: Running): Promise<void> {
  const status = readFileSync(`/proc/${server.pid}/status`, 'utf8')
  assert.match(status, new RegExp(`^Uid:\\t${imageUser}\\t${imageUser}\\t`, 'm'))
  assert.match(status, /^NSpid:\t\d+\t1$/m)
  assert.match(status, /^CapEff:\t0+$/m)
  // On a busy machine the service's checks may be late for a while.
  for (let reported = ''; reported !== '{"status":"ready","store":"ok","limiter":"ok"}';) {
    const ready = await fetch(`${server.url}/readyz`)
    assert.equal(ready.status, 200)
    reported = await ready.text()
  }
  const docs = await fetch(`${server.url}/docs`)
  assert.match(await docs.text(), /idempotency_conflict/)
  assert.match(await (await fetch(`${server.url}/console`)).text(), /<div id="root">/)
}

/** Mount points of a process that are not read-only; what is below /dev is the host's. */
function writablePlaces(pid: number): string[] {
  const mounts = readFileSync(`/proc/${pid}/mounts`, 'utf8').trim().split('\n')
  const writable = mounts.map((line) => line.split(' ')).filter(([, , , options]) => !options!.split(',').includes('ro'))
  return writable
    .map(([, place]) => place!)
    .filter((place) => !place.startsWith('/dev/'))
    .toSorted()
}
