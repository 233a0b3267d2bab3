/** Processes that have just started: nothing that a first message needs is left to do when a process says that it listens. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { Fleet, noFleet } from '../support/fleet.ts'
import { makeDatabase } from '../support/postgres-server.ts'

void test(
  'fault.postgres-unreachable: two processes that start at once answer their first messages on the connections that they have',
  { skip: noFleet() },
  async (t) => {
    const database = await makeDatabase()
    t.after(() => database.drop())
    const proxy = await startFaultProxy(Number(new URL(database.url).port))
    t.after(() => proxy.close())
    const fleet = await Fleet.begin(t, { databaseUrl: database.url })
    await Promise.all([1, 2].map((place) => fleet.start(place, { env: { DATABASE_URL: proxy.through(database.url) } })))
    await proxy.refuse()
    const first = [1, 2].map((place) => fleet.sent(`first at ${place}`, { user: `user-${place}` }))
    const outcomes = await Promise.all(first.map((sent, index) => fleet.try(sent, index + 1)))
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['reply', 'reply'],
      JSON.stringify(outcomes),
    )
    await proxy.pass()
  },
)
