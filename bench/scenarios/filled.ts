/** A store that has served a million turns beside an empty one: do turns cost more when more is stored? */
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import { verify } from '../../src/store/queries/invariants.ts'
import { readSnapshot } from '../../src/store/sqlite/sqlite.ts'
import { fillPostgres, fillSqlite } from '../filling.ts'
import type { Bench, Scenario, Server, StoreKind, Tenant } from '../scenario.ts'
import { eachInTurn, sideBySide, storeNames, storesHere, warm } from '../side-by-side.ts'

const callers = 64
const tenants = 10
const turnsOfTenant = 100_000
const quickTurnsOfTenant = 100

export const filled: Scenario = {
  name: 'filled',
  sentence: `A store with 1,000,000 turns of ${tenants} owners, in conversations of 20, beside an empty one with as many owners; sync, ${callers} callers.`,
  async run(bench) {
    await (await bench.upstream()).configure({})
    const { kinds, notes } = storesHere(bench)
    const turns = bench.quick ? quickTurnsOfTenant : turnsOfTenant
    const sides = await eachInTurn(kinds, async (kind) => {
      const empty = await withTenants(bench, await bench.startServer({ store: kind }))
      const full = kind === 'sqlite' ? await fullOnSqlite(bench, turns) : await fullOnPostgres(bench, turns)
      bench.say(`filled: ${storeNames[kind]} is full`)
      for (const { server } of [empty, full]) await warm(bench, server)
      return { kind, empty, full }
    })
    const lane = (kind: StoreKind, stored: number, { server, made }: Peopled) => ({
      labels: { store: storeNames[kind], turns: stored },
      target: server,
      spec: { calls: made.map((tenant) => tenant.call('sync')), callers, seconds: bench.seconds },
    })
    const rows = await sideBySide(
      bench,
      sides.flatMap(({ kind, empty, full }) => [lane(kind, 0, empty), lane(kind, tenants * turns, full)]),
    )
    for (const { full, empty } of sides) for (const { server } of [full, empty]) await bench.audit(server)
    for (const { full } of sides) await holds(full.server)
    return { rows, notes: [...notes, 'Every invariant of the store was checked over the filled ones afterwards.'] }
  },
}

type Peopled = { server: Server; made: Tenant[] }

async function withTenants(bench: Bench, server: Server): Promise<Peopled> {
  const made = await eachInTurn(Array.from({ length: tenants }), () => server.makeTenant())
  await bench.measure(server, { calls: made.map((tenant) => tenant.call('sync')), callers: 1, turns: tenants })
  return { server, made }
}

/** Filled while its server is stopped, because no other process may write to its file. */
async function fullOnSqlite(bench: Bench, turns: number): Promise<Peopled> {
  const folder = bench.makeFolder()
  const { server, made } = await withTenants(bench, await bench.startServer({ folder }))
  await server.stop()
  await fillSqlite(
    folder,
    made.map(({ ownerId }) => ownerId),
    turns,
  )
  return { server: await bench.startServer({ folder }), made }
}

async function fullOnPostgres(bench: Bench, turns: number): Promise<Peopled> {
  const { server, made } = await withTenants(bench, await bench.startServer({ store: 'postgres' }))
  await fillPostgres(
    server.databaseUrl!,
    made.map(({ ownerId }) => ownerId),
    turns,
  )
  return { server, made }
}

/** Throws if a stored row violates an invariant. */
async function holds({ folder, databaseUrl }: Server): Promise<void> {
  const verdicts = databaseUrl === undefined ? await readSnapshot(folder, verify) : await verifyPostgres(databaseUrl)
  const broken = verdicts.filter(({ rows }) => rows.length > 0)
  if (broken.length > 0)
    throw new Error(
      `the filled store is broken: ${JSON.stringify(
        broken.map(({ id, rows }) => [id, rows[0]]),
        (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
      )}`,
    )
}

async function verifyPostgres(url: string) {
  const store = await openPostgresStore({ url, log: { warn: (facts, message) => console.error(message, facts), info: () => undefined } })
  try {
    return await store.read.verify()
  } finally {
    await store.close()
  }
}
