/**
 * The servers and the network proxy that other tests use: they start, fail on demand, recover, and none outlives the process that started
 * it.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { Client } from 'pg'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { makeDatabase, noPostgres, noPostgresServer, startPostgres, withClient } from '../support/postgres-server.ts'
import { RawSocket } from '../support/raw-socket.ts'
import { makeRedis, noRedis, noRedisServer, startRedis, withRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

const count = (url: string): Promise<number> =>
  withClient(url, async (client) => Number((await client.query('select count(*) as n from t')).rows[0].n))

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Prints that it started, then what it received, in capitals; on `end` it ends the connection. */
async function startEcho(t: TestContext): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (piece) => (piece.toString() === 'end' ? socket.end() : socket.write(piece.toString().toUpperCase())))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

describe('PostgreSQL for tests', () => {
  test('every database is empty and separate', { skip: noPostgres() }, async (t) => {
    const [one, other] = await Promise.all([makeDatabase(), makeDatabase()])
    t.after(() => Promise.all([one.drop(), other.drop()]))
    await withClient(one.url, (client) => client.query('create table t (a text)'))
    await withClient(other.url, (client) => client.query('create table t (a text)'))
    await withClient(one.url, (client) => client.query("insert into t values ('x')"))
    assert.deepEqual([await count(one.url), await count(other.url)], [1, 0])
    await one.drop()
    await assert.rejects(count(one.url), /does not exist/)
  })

  test('it is killed, halted and paused, and comes back with what was committed', { skip: noPostgresServer() }, async (t) => {
    const server = await startPostgres({ durable: true, lines: ["application_name = 'from a line'"] })
    t.after(() => server.stop())
    const settings = await withClient(server.url, (client) =>
      client.query("select current_setting('fsync') as fsync, current_setting('application_name') as name"),
    )
    assert.deepEqual(settings.rows, [{ fsync: 'on', name: 'from a line' }])
    await withClient(server.url, (client) => client.query("create table t (a text); insert into t values ('x')"))

    for (const end of [() => server.kill9(), () => server.halt('immediate'), () => server.halt('fast')]) {
      const before = server.pid
      const session = new Client({ connectionString: server.url })
      const broken = new Promise((resolve) => session.on('error', resolve))
      await session.connect()
      await end()
      await broken
      assert.ok(!server.running && !alive(before))
      await assert.rejects(count(server.url), /ECONNREFUSED/)
      await server.restart()
      assert.equal(await count(server.url), 1)
    }

    const session = new Client({ connectionString: server.url })
    await session.connect()
    server.pause()
    let answered = false
    const asked = session.query('select 1').then(() => (answered = true))
    await pass(100)
    assert.equal(answered, false)
    server.resume()
    await asked
    await session.end()
  })

  test('it and its folder are gone when the process that started it was killed', { skip: noPostgresServer() }, async () => {
    await outlived(`
      import { startPostgres } from './postgres-server.ts'
      const server = await startPostgres()
      console.log(JSON.stringify({ pid: server.pid, folder: server.folder }))
      setInterval(() => {}, 1000)`)
  })
})

describe('Redis for tests', () => {
  test('every database is empty and separate', { skip: noRedis() }, async () => {
    const [one, other] = [await makeRedis(), await makeRedis()]
    await withRedis(one.url, (client) => client.set('a', '1'))
    assert.deepEqual(await withRedis(other.url, (client) => client.keys('*')), [])
    await one.drop()
    assert.deepEqual(await withRedis(one.url, (client) => client.keys('*')), [])
  })

  test('it is killed, halted and paused, and comes back empty', { skip: noRedisServer() }, async (t) => {
    const server = await startRedis({ lines: ['maxmemory 100mb'] })
    t.after(() => server.stop())
    assert.deepEqual(await withRedis(server.url, (client) => client.config('GET', 'maxmemory')), ['maxmemory', '104857600'])
    for (const end of [() => server.kill9(), () => server.halt()]) {
      await withRedis(server.url, (client) => client.set('a', '1'))
      await end()
      await assert.rejects(withRedis(server.url, (client) => client.get('a')))
      await server.restart()
      assert.equal(await withRedis(server.url, (client) => client.get('a')), null)
    }
    await withRedis(server.url, async (client) => {
      server.pause()
      let answered = false
      const asked = client.ping().then(() => (answered = true))
      await pass(100)
      assert.equal(answered, false)
      server.resume()
      await asked
    })
  })

  test('it and its folder are gone when the process that started it was killed', { skip: noRedisServer() }, async () => {
    await outlived(`
      import { startRedis } from './redis-server.ts'
      const server = await startRedis()
      console.log(JSON.stringify({ pid: server.pid, folder: server.folder }))
      setInterval(() => {}, 1000)`)
  })
})

/** Runs the script until it has printed its server, kills it, and waits for the server's end. */
async function outlived(script: string): Promise<void> {
  const child = spawn(process.execPath, [
    '--input-type=module-typescript',
    '-e',
    script.replaceAll("'./", `'${new URL('../support/', import.meta.url).href}`),
  ])
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  const { pid, folder } = JSON.parse(said.toString()) as { pid: number; folder: string }
  assert.ok(alive(pid) && existsSync(folder))
  child.kill('SIGKILL')
  await until('the end of the server', () => !alive(pid))
  await until('the end of its folder', () => !existsSync(folder))
}

describe('fault proxy', () => {
  test('passes, refuses and passes again; reset ends open connections', async (t) => {
    const proxy = await startFaultProxy(await startEcho(t))
    t.after(() => proxy.close())
    using first = await RawSocket.open(proxy.port)
    first.write('hello')

    await first.until('HELLO')

    await proxy.refuse()
    await assert.rejects(RawSocket.open(proxy.port), { code: 'ECONNREFUSED' })
    first.write('again')

    await first.until('AGAIN')

    await proxy.pass()
    using second = await RawSocket.open(proxy.port)
    second.write('end')

    await second.rest()
    assert.ok(second.ended, 'the end of the server comes as an end')
    proxy.reset()
    await first.rest()
    assert.ok(!first.ended, 'a reset is no end')
    assert.equal(proxy.accepted, 2)
    await until('no open connection', () => proxy.open === 0)
  })

  test('a black hole accepts everything, returns nothing, and loses nothing', async (t) => {
    const proxy = await startFaultProxy(await startEcho(t))
    t.after(() => proxy.close())
    using before = await RawSocket.open(proxy.port)
    before.write('one ')
    await before.until('ONE')
    proxy.blackhole()
    using during = await RawSocket.open(proxy.port)
    before.write('two')

    during.write('three')

    await pass(100)
    assert.deepEqual([before.received, during.received], ['ONE ', ''])
    await proxy.pass()
    await Promise.all([before.until('ONE TWO'), during.until('THREE')])
  })

  test('a delay keeps the order', async (t) => {
    const proxy = await startFaultProxy(await startEcho(t))
    t.after(() => proxy.close())
    proxy.delay(50)
    using raw = await RawSocket.open(proxy.port)
    const from = performance.now()
    for (const letter of 'abc') raw.write(letter)
    await raw.until('ABC')
    assert.ok(performance.now() - from >= 95, 'there and back')
    await proxy.pass()
    raw.write('d')

    await raw.until('ABCD')
  })

  for (const how of ['rst', 'fin'] as const) {
    test(`cuts by ${how} after the n-th byte of the server, once`, async (t) => {
      const proxy = await startFaultProxy(await startEcho(t))
      t.after(() => proxy.close())
      const cut = proxy.cutAfter(7, how)
      using raw = await RawSocket.open(proxy.port)
      raw.write('hello')

      await raw.until('HELLO')
      raw.write('world')

      await cut
      assert.equal(await raw.rest(), 'HELLOWO')
      assert.equal(raw.ended, how === 'fin')
      using next = await RawSocket.open(proxy.port)
      next.write('hello world')
      await next.until('HELLO WORLD')
    })
  }

  test('loses a request or a response of PostgreSQL, once: one was never executed, the other was', { skip: noPostgres() }, async (t) => {
    const database = await makeDatabase()
    t.after(() => database.drop())
    const proxy = await startFaultProxy(Number(new URL(database.url).port))
    t.after(() => proxy.close())
    const url = proxy.through(database.url)
    await withClient(url, (client) => client.query('create table t (a text)'))

    const insert = (): Promise<unknown> => withClient(url, (client) => client.query('insert into t values ($1)', ['x']))
    const request = proxy.cutAt('insert into t', { lose: 'request' })
    await assert.rejects(insert())
    await request
    assert.equal(await count(url), 0)

    const answer = proxy.cutAt('insert into t', { lose: 'answer', how: 'fin' })
    await assert.rejects(insert())
    await answer
    assert.equal(await count(url), 1)

    const unsent = proxy.cutAt('insert into t', { lose: 'request', how: 'silence' })
    const unheard = insert()
    await unsent
    assert.equal(await count(url), 1)
    proxy.reset()
    await assert.rejects(unheard)

    const silent = proxy.cutAt('begin', { lose: 'answer', how: 'silence', until: 'COMMIT' })
    const asking = withClient(url, (client) => client.query("begin; insert into t values ('y'); commit")).then(
      () => 'answered',
      () => 'broken',
    )
    await silent
    assert.equal(await count(url), 2)
    assert.equal(await Promise.race([asking, pass(50, 'silence')]), 'silence')
    proxy.reset()
    assert.equal(await asking, 'broken')
    await insert()
    assert.equal(await count(url), 3)
  })
})
