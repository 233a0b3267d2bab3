import { test } from 'node:test'
import { ownPostgres } from './support/own-postgres.ts'
import { Bench } from './store/conformance.ts'
import { openSqliteStore } from '../src/store/sqlite/sqlite.ts'
import { mkdtempSync } from 'node:fs'
test('time', async (t) => {
  const database = await ownPostgres(t)
  const pg = await database.open({ deadlines: { admissionMs: 60000, settlementMs: 60000 } })
  const lite = await openSqliteStore({ folder: mkdtempSync('/tmp/lims-') })
  for (const [name, store] of [['sqlite', lite], ['pg', pg]] as const) for (let round = 0; round < 2; round++) for (const limits of [0, 1, 3]) {
    const bench = await Bench.make(store as any, 10n ** 14n, 0)
    if (limits) await store.write.changeAgent({ id: bench.agentId, spendLimits: (['end_user', 'api_key', 'agent'] as const).slice(0, limits).map((scope) => ({ scope, span: 'day' as const, amount: 10n ** 13n })) })
    let admit = 0, settle = 0, refuse = 0
    for (let n = 0; n < 10; n++) {
      const items = Array.from({ length: 64 }, (_, i) => bench.admission(process.env.NEW ? {} : { externalUserId: `u${i}` }))
      let at = performance.now()
      const outcomes = await store.admitMany(items)
      admit += performance.now() - at
      at = performance.now()
      await store.settleMany(outcomes.map((o: any) => bench.settlement(o.turn)))
      settle += performance.now() - at
    }
    if (limits) {
      await store.write.changeAgent({ id: bench.agentId, spendLimits: [{ scope: 'agent' as const, span: 'day' as const, amount: 1n }] })
      const items = Array.from({ length: 64 }, () => bench.admission())
      const at = performance.now()
      await store.admitMany(items)
      refuse = performance.now() - at
    }
    t.diagnostic(`${name} ${limits} limits: admit ${(admit / 10).toFixed(1)} ms, settle ${(settle / 10).toFixed(1)} ms per batch of 64; refuse ${refuse.toFixed(1)}`)
  }
  await lite.close()
})
