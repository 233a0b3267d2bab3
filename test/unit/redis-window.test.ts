/** Rate windows in a real Redis (docs/spec.md, "Rate limit"): the table of all windows, and what is specific to Redis. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fc from 'fast-check'
import { pino } from 'pino'
import { createRedisWindow, spendScript } from '../../src/access/redis-window.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { freePort } from '../support/guarded-process.ts'
import { makeRedis, noRedis, startRedis, withRedis } from '../support/redis-server.ts'
import { figuresOf, testWindow } from './rate-window-cases.ts'

const skip = noRedis()
const log = pino({ level: 'silent' })
// The time that a loaded machine needs; the deadline itself is tested with short ones.
const patientMs = 30_000

/** Repeats until it does not reject; on a loaded machine a response may be late. */
async function eventually<Value>(ask: () => Promise<Value>): Promise<Value> {
  for (let tries = 0; tries < 600; tries++) {
    try {
      return await ask()
    } catch {
      await pass(50)
    }
  }
  return ask()
}

async function windowIn(t: TestContext, url: string, deadlineMs = patientMs) {
  const window = await createRedisWindow({ url, log, deadlineMs })
  t.after(() => window.close())
  return window
}

async function setUp(t: TestContext) {
  const { url, drop } = await makeRedis()
  t.after(drop)
  const window = await windowIn(t, url)
  const now = (): Promise<number> =>
    withRedis(url, async (client) => {
      const [seconds, microseconds] = await client.time()
      return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000)
    })
  /** Its clock cannot be moved, so the windows are: opened earlier, expiring earlier. */
  const pass = (ms: number): Promise<void> =>
    withRedis(url, async (client) => {
      for (const key of await client.keys('turnkeep:window:*')) {
        const [value, left] = [await client.get(key), await client.pttl(key)]
        if (left <= ms) await client.del(key)
        else
          await client.set(
            key,
            value!.replace(/^\d+/, (opened) => String(Number(opened) - ms)),
            'PX',
            left - ms,
          )
      }
    })
  return { url, window, now, pass }
}

testWindow('Redis', setUp, skip)

void test(
  'rate.window: in Redis a key is turnkeep:window:<id>, in the database of the address, and is gone when its window has ended',
  { skip },
  async (t) => {
    const { url, window } = await setUp(t)
    await window.spend({ apiKeyId: 'key_a', limit: 5, windowSeconds: 60 })
    await window.spend({ apiKeyId: 'key_brief', limit: 5, windowSeconds: 1 })
    await withRedis(url, async (client) => {
      const left = await client.pttl('turnkeep:window:key_a')
      assert.ok(left > 0 && left <= 60_000, `${left} ms`)
      const brief = ['turnkeep:window:key_brief', 'turnkeep:window:ping']
      for (let tries = 0; tries < 600 && (await client.exists(...brief)) > 0; tries++) await pass(50)
      assert.deepEqual(await client.keys('*'), ['turnkeep:window:key_a'])
    })
  },
)

void test('rate.spend: in Redis the existing state is used from the start, and a flushed script is loaded again', { skip }, async (t) => {
  const { url, window } = await setUp(t)
  const spend = () => window.spend({ apiKeyId: 'key_a', limit: 100, windowSeconds: 60 })
  assert.equal((await spend()).kind, 'allowed')
  await withRedis(url, (client) => client.script('FLUSH'))
  const outcomes = await Promise.all(Array.from({ length: 20 }, spend))
  assert.deepEqual(
    outcomes.map((outcome) => figuresOf(outcome).remaining),
    Array.from({ length: 20 }, (_, n) => 98 - n),
  )
})

void test('rate.fail-closed: a response that is already in the socket when a blocked process resumes is not late', { skip }, async (t) => {
  const { url } = await setUp(t)
  const window = await windowIn(t, url, 100)
  await eventually(() => window.ping())
  const answer = window.spend({ apiKeyId: 'key_a', limit: 100, windowSeconds: 60 })
  const until = performance.now() + 2_000
  while (performance.now() < until);
  assert.equal((await answer).kind, 'allowed')
})

void test(
  'rate.window: in Redis the script, with a given clock: never over the limit, never early, one end per window',
  { skip },
  async () => {
    const { url, drop } = await makeRedis()
    const script = spendScript.replace("redis.call('TIME')", '{ ARGV[3], ARGV[4] }')
    assert.notEqual(script, spendScript)
    const steps = fc.array(fc.record({ afterMs: fc.nat(4_000), key: fc.constantFrom('key_a', 'key_b') }), { minLength: 1, maxLength: 60 })
    await withRedis(url, (client) =>
      fc.assert(
        fc.asyncProperty(steps, fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 9 }), async (requests, limit, seconds) => {
          const run = randomUUID()
          const open = new Map<string, { end: number; spent: number }>()
          let now = 1_763_700_000_000
          for (const { afterMs, key } of requests) {
            now += afterMs
            const clock = [Math.floor(now / 1000), (now % 1000) * 1000 + 999]
            const answer = await client.eval(script, 1, `${run}:${key}`, limit, seconds, ...clock)
            let own = open.get(key)
            if (!own || now >= own.end) open.set(key, (own = { end: now + seconds * 1000, spent: 0 }))
            const fits = own.spent < limit
            if (fits) own.spent += 1
            assert.deepEqual(answer, [fits ? 1 : 0, own.spent, own.end, own.end - now])
          }
        }),
        { numRuns: 100 },
      ),
    )
    await drop()
  },
)

void test('rate.window: in Redis a clock that is set back makes no window longer and forgets no unit', { skip }, async () => {
  const { url, drop } = await makeRedis()
  const script = spendScript.replace("redis.call('TIME')", '{ ARGV[3], 0 }')
  await withRedis(url, async (client) => {
    const spend = (second: number) => client.eval(script, 1, 'key_a', 3, 60, second)
    assert.deepEqual(await spend(1_763_703_600), [1, 1, 1_763_703_660_000, 60_000])
    assert.deepEqual(await spend(1_763_700_000), [1, 2, 1_763_700_060_000, 60_000])
    assert.deepEqual(await spend(1_763_700_010), [1, 3, 1_763_700_060_000, 50_000])
    assert.deepEqual(await spend(1_763_700_020), [0, 3, 1_763_700_060_000, 40_000])
    assert.deepEqual(await spend(1_763_700_060), [1, 1, 1_763_700_120_000, 60_000])
  })
  await drop()
})

/** A separate Redis, what was logged, and the clock used for it. */
async function ownRedis(t: TestContext, lines: string[] = []) {
  const server = await startRedis({ lines })
  t.after(() => server.stop())
  const logged: Record<string, any>[] = []
  const log = pino({ base: null }, { write: (line) => void logged.push(JSON.parse(line)) })
  const clock = { now: 0 }
  const open = async (url: string, deadlineMs = patientMs) => {
    const window = await createRedisWindow({ url, log, deadlineMs, monotonicMs: () => clock.now })
    t.after(() => window.close())
    return { window, spend: (limit = 100_000) => window.spend({ apiKeyId: 'key_a', limit, windowSeconds: 600 }) }
  }
  return { server, logged, open, clock }
}

const messages = (logged: Record<string, any>[]) => logged.map(({ level, msg }) => [level, msg])
const lost = [40, 'rate limiter unavailable: Redis cannot be used; rejecting requests until it works again']
const again = [30, 'rate limiter available again']

void test(
  'rate.fail-closed: a unit whose response was lost with the connection is refused then, not at the deadline, and not sent again',
  { skip },
  async (t) => {
    const { server, open, logged } = await ownRedis(t)
    const proxy = await startFaultProxy(server.port)
    t.after(() => proxy.close())
    const { spend } = await open(proxy.through(server.url))
    assert.equal(figuresOf(await spend()).remaining, 99_999)
    for (const how of ['rst', 'fin'] as const) {
      const cut = proxy.cutAt('key_a', { lose: 'answer', how })
      await assert.rejects(spend(), /the rate limiter cannot use Redis/)
      await cut
      await eventually(() => spend(1))
    }
    // Itself and the two whose response was lost; what came in between was refused by its own limit.
    assert.equal(figuresOf(await spend()).remaining, 99_996)
    assert.deepEqual(messages(logged), [lost, again])
  },
)

void test(
  'rate.fail-closed: units that a frozen Redis did not confirm in time are not spent when it resumes, and only the first caller waits for it',
  { skip },
  async (t) => {
    const { server, open } = await ownRedis(t)
    const { spend } = await open(server.url, 200)
    await eventually(spend)
    const { remaining } = figuresOf(await eventually(spend))
    server.pause()
    for (let n = 0; n < 50; n++) await assert.rejects(spend(), /the rate limiter cannot use Redis/)
    server.resume()
    const left = figuresOf(await eventually(spend)).remaining
    assert.ok(left >= remaining - 25, `${remaining - left} were spent`)
  },
)

void test('rate.fail-closed: a connection without a handshake is abandoned, and the next one serves', { skip }, async (t) => {
  const { server, open } = await ownRedis(t)
  const proxy = await startFaultProxy(server.port)
  t.after(() => proxy.close())
  const silent = proxy.cutAt('hello', { lose: 'request', how: 'silence' })
  const { spend } = await open(proxy.through(server.url))
  await silent
  assert.equal((await eventually(spend)).kind, 'allowed')
})

void test(
  'rate.fail-closed: the service starts without Redis, logs an outage in one line, and uses Redis as soon as it is available',
  { skip },
  async (t) => {
    const { server, open, logged, clock } = await ownRedis(t)
    await server.halt()
    const { window, spend } = await open(server.url)
    for (let n = 0; n < 20; n++) {
      await assert.rejects(spend(), /the rate limiter cannot use Redis: .*ECONNREFUSED/)
      await assert.rejects(window.ping(), /the rate limiter cannot use Redis: .*ECONNREFUSED/)
    }
    await server.restart()
    assert.equal((await eventually(spend)).kind, 'allowed')
    await window.ping()
    assert.deepEqual(messages(logged), [lost, again])

    await server.halt()
    await assert.rejects(spend())
    assert.equal(logged.length, 2, 'one that comes again within ten seconds is not told yet')
    clock.now += 10_000
    await eventually(async () => assert.equal(logged.length, 3))
    await assert.rejects(spend())
    assert.deepEqual(messages(logged), [lost, again, lost])
  },
)

void test('rate.fail-closed: a closed window refuses, and logs no outage', { skip }, async (t) => {
  const { server, open, logged } = await ownRedis(t)
  const { window, spend } = await open(server.url)
  await spend()
  await window.close()
  await assert.rejects(spend(), /the connection was closed/)
  await pass(50)
  assert.deepEqual(logged, [])
})

void test(
  'rate.fail-closed: a wrong password refuses every request and is in no log line; the right one is percent-decoded',
  { skip },
  async (t) => {
    const { server, open, logged } = await ownRedis(t)
    // docs/operate/redis.md
    const rights = '~turnkeep:window:* +hello +select +client|setname +evalsha +eval +time +get +set'
    await withRedis(server.url, async (client) => {
      await client.acl('SETUSER', 'turnkeep', 'on', '>s3cret%', ...rights.split(' '))
      await client.config('SET', 'requirepass', 'p@ss:w/rd')
    })
    const at = (user: string) => server.url.replace('//', `//${user}@`)
    for (const user of [':wr%2Fng', 'turnkeep:wr%2Fng', 'nobody:wr%2Fng']) {
      const { spend } = await open(at(user))
      await assert.rejects(spend(), /WRONGPASS/)
    }
    await assert.rejects((await open(server.url)).spend(), /NOAUTH/)
    assert.equal(/wr\/ng|wr%2Fng/.test(JSON.stringify(logged)), false)
    assert.deepEqual(messages(logged), [lost, lost, lost, lost])
    for (const user of [':p%40ss%3Aw%2Frd', 'default:p%40ss%3Aw%2Frd', 'turnkeep:s3cret%25']) {
      assert.equal((await (await open(at(user))).spend()).kind, 'allowed')
    }
  },
)

void test('rate.fail-closed: a database that does not exist is an outage, never database 0', { skip }, async (t) => {
  const { server, open, logged } = await ownRedis(t, ['databases 4'])
  const { spend } = await open(server.url.replace(/0$/, '4'))
  for (let n = 0; n < 20; n++) {
    await assert.rejects(spend(), /DB index is out of range/)
    await pass(20)
  }
  assert.deepEqual(messages(logged), [lost])
  assert.equal(await withRedis(server.url, (client) => client.dbsize()), 0)
})

void test('rate.fail-closed: a query string in the address changes no setting', { skip }, async (t) => {
  const { server, open } = await ownRedis(t)
  await server.halt()
  const { spend } = await open(`${server.url}?enableOfflineQueue=true&maxRetriesPerRequest=1000&db=7&keyPrefix=x`)
  await assert.rejects(spend(), /ECONNREFUSED/)
  await server.restart()
  await eventually(spend)
  assert.equal(await withRedis(server.url, (client) => client.exists('turnkeep:window:key_a')), 1)
})

void test('rate.fail-closed: after a failover behind one address the client reconnects without a restart', { skip }, async (t) => {
  const { server: previous, open } = await ownRedis(t)
  const next = await startRedis()
  t.after(() => next.stop())
  let primary = previous.port
  const address = createServer((client) => {
    const target = connect(primary, '127.0.0.1')
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      from.on('error', () => to.destroy())
      from.pipe(to)
    }
  })
  await new Promise<void>((resolve) => address.listen(0, '127.0.0.1', resolve))
  t.after(() => address.close())
  const { spend } = await open(`redis://127.0.0.1:${(address.address() as AddressInfo).port}`)
  assert.equal(figuresOf(await spend()).remaining, 99_999)
  primary = next.port
  await withRedis(previous.url, (client) => client.replicaof('127.0.0.1', next.port))
  await assert.rejects(spend(), /READONLY/)
  await eventually(spend)
  assert.equal(await withRedis(next.url, (client) => client.exists('turnkeep:window:key_a')), 1)
})

void test('rate.window: in Redis over TLS, with certificate verification', { skip: skip || noTls() }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-tls-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key, '-out', cert, ...subject],
    { stdio: 'ignore' },
  )
  const port = await freePort()
  const { open, logged } = await ownRedis(t, [`tls-port ${port}`, `tls-cert-file ${cert}`, `tls-key-file ${key}`, 'tls-auth-clients no'])
  for (const scheme of ['rediss', 'valkeys']) {
    const url = `${scheme}://localhost:${port}/1`
    await assert.rejects((await open(url)).spend(), /self-signed certificate/)
    const before = getCACertificates('default')
    setDefaultCACertificates([...before, await readFile(cert, 'utf8')])
    try {
      assert.equal((await (await open(url)).spend()).kind, 'allowed')
    } finally {
      setDefaultCACertificates(before)
    }
  }
  assert.deepEqual(messages(logged).filter((line) => line[0] === 40).length, 2)
})

function noTls(): string | false {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return false
  } catch {
    return 'no openssl here to make a certificate; install openssl'
  }
}
