/** Stores that have served up to a million turns, or as many as one asks for, beside an empty one: do turns cost more when more is stored? */
import { readPostgresSnapshot } from '../../src/store/postgres/postgres.ts'
import { verify } from '../../src/store/queries/invariants.ts'
import { readSnapshot } from '../../src/store/sqlite/sqlite.ts'
import { fillPostgres, fillSqlite } from '../filling.ts'
import type { Bench, Scenario, Server, StoreKind, Tenant } from '../scenario.ts'
import { eachInTurn, sideBySide, storeNames, storesHere, warm } from '../side-by-side.ts'

const callers = 64
const tenants = 10
const turnCounts: Record<StoreKind, number[]> = { sqlite: [0, 1_000_000], postgres: [0, 10_000, 1_000_000] }
const quickCounts = [0, 1_000]

export const filled: Scenario = {
  name: 'filled',
  sentence: `Stores with turns of ${tenants} owners, in conversations of 20, beside an empty one with as many owners; sync, ${callers} callers.`,
  async run(bench) {
    await (await bench.upstream()).configure({})
    const { kinds, notes } = storesHere(bench)
    const stores = kinds.flatMap((kind) => countsOf(bench, kind).map((turns) => ({ kind, turns })))
    const sides = await eachInTurn(stores, async ({ kind, turns }) => {
      const peopled = kind === 'sqlite' ? await onSqlite(bench, turns) : await onPostgres(bench, turns)
      await warm(bench, peopled.server)
      bench.say(`filled: ${storeNames[kind]} has ${turns.toLocaleString('en-US')} turns`)
      return { kind, turns, ...peopled }
    })
    const rows = await sideBySide(
      bench,
      sides.map(({ kind, turns, server, made }) => ({
        labels: { store: storeNames[kind], turns },
        target: server,
        spec: { calls: made.map((tenant) => tenant.call('sync')), callers, seconds: bench.seconds },
      })),
    )
    for (const { server } of sides) await bench.audit(server)
    const checks = await eachInTurn(sides, async ({ kind, turns, server }) => {
      const startedAt = performance.now()
      await holds(server)
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      bench.say(`filled: checked ${storeNames[kind]} with ${turns.toLocaleString('en-US')} turns in ${seconds} s`)
      return `${seconds} s with ${turns.toLocaleString('en-US')} (${storeNames[kind]})`
    })
    return {
      rows,
      notes: [...notes, `Every invariant of each store was checked afterwards, as \`turnkeep verify\` does: ${checks.join(', ')}.`],
    }
  },
}

function countsOf(bench: Bench, kind: StoreKind): number[] {
  if (bench.quick) return quickCounts
  const more = kind === 'postgres' && bench.storedTurns > 0 ? [bench.storedTurns] : []
  return [...turnCounts[kind], ...more]
}

type Peopled = { server: Server; made: Tenant[] }

async function withTenants(bench: Bench, server: Server): Promise<Peopled> {
  const made = await eachInTurn(Array.from({ length: tenants }), () => server.makeTenant())
  await bench.measure(server, { calls: made.map((tenant) => tenant.call('sync')), callers: 1, turns: tenants })
  return { server, made }
}

/** Filled while its server is stopped, because no other process may write to its file. */
async function onSqlite(bench: Bench, turns: number): Promise<Peopled> {
  const folder = bench.makeFolder()
  const { server, made } = await withTenants(bench, await bench.startServer({ folder }))
  if (turns === 0) return { server, made }
  await server.stop()
  await fillSqlite(folder, ownersOf(made), turns / tenants)
  return { server: await bench.startServer({ folder }), made }
}

async function onPostgres(bench: Bench, turns: number): Promise<Peopled> {
  const { server, made } = await withTenants(bench, await bench.startServer({ store: 'postgres' }))
  if (turns > 0) await fillPostgres(server.databaseUrl!, ownersOf(made), turns / tenants)
  return { server, made }
}

const ownersOf = (made: Tenant[]): string[] => made.map(({ ownerId }) => ownerId)

/** Throws if a stored row violates an invariant. */
async function holds({ folder, databaseUrl }: Server): Promise<void> {
  const verdicts = await (databaseUrl === undefined ? readSnapshot(folder, verify) : readPostgresSnapshot(databaseUrl, verify))
  const broken = verdicts.filter(({ rows }) => rows.length > 0)
  if (broken.length > 0)
    throw new Error(
      `the filled store is broken: ${JSON.stringify(
        broken.map(({ id, rows }) => [id, rows[0]]),
        (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
      )}`,
    )
}
