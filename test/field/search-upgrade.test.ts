/** A knowledge base that the previous version indexed, searched while it gets the terms of this version; on both stores. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import type { IndexingProcess } from '../support/indexing-process.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { until } from '../support/until.ts'
import { storeKind } from '../support/store-under-test.ts'
import { Bench } from '../store/conformance.ts'
import { makePrevious, previousTermsOf, readIndex } from './previous-rows.ts'
import type { RenewingProcess } from './renewing-process.ts'

type Place = { at: RenewingProcess['at']; open(): Promise<Store> }

async function makePlace(t: TestContext): Promise<Place> {
  if (storeKind === 'postgres') {
    const database = await ownPostgres(t)
    return { at: { url: database.url }, open: () => database.open() }
  }
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return { at: { folder }, open: () => openSqliteStore({ folder }) }
}

/** What every version finds, and what only this one finds. */
const texts = ['Return your résumé', 'Rückgabefristen', '환불정책은 다음과 같습니다', '退款の期限はＡＢＣ株式会社', 'ııı ışık', 'مُحَمَّد ٣٤٥', 'refunds in parcels'] // prettier-ignore
const always = ['return', 'Rückgabefristen', '환불정책은', '退款', 'ışık', '٣٤٥', 'refund parcel', 'ＡＢＣ株式会社']
const onlyNow = ['RESUME', 'STRASSE', '환불', 'abc', 'ISIK', '345']
const perDocument = 9
const limit = 100

async function setUp(t: TestContext) {
  const place = await makePlace(t)
  const store = await place.open()
  const { agentId } = await Bench.make(store as never, 1n)
  for (const [index, text] of texts.entries()) {
    const chunks = Array.from({ length: perDocument }, (_, n) => ({ headings: `Ü${n}`, text: `${text} ${n}` }))
    await store.write.indexDocument({ documentId: `doc_${index}`, agentId, title: `Straße ${index}`, text: '', chunks })
  }
  await store.close()
  const current = await readIndex(place.at)
  await makePrevious(place.at)
  assert.notDeepEqual(await readIndex(place.at), current)
  const count = async (of: Store, query: string): Promise<number> =>
    (await of.read.searchChunks({ agentId, query, limit, languages: [null] })).length
  return { place, current, count }
}

const runs = async (t: TestContext, given: RenewingProcess): Promise<NodeJS.Signals | number | null> => {
  const child = fork(join(import.meta.dirname, 'renewing-process.ts'), [JSON.stringify(given)], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  t.after(() => void child.kill('SIGKILL'))
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  return signal ?? code
}

void test('knowledge: after an upgrade nothing that was found is missing while the terms are renewed, and then the index is a new one', async (t) => {
  const { place, current, count } = await setUp(t)
  const store = await place.open()
  t.after(() => store.close())
  const before = new Map<string, number>()
  for (const query of always) before.set(query, await count(store, query))
  for (const [query, found] of before) assert.ok(found >= perDocument, query)
  for (const query of onlyNow) assert.equal(await count(store, query), 0, query)
  let [batches, more] = [0, 1]
  while (more > 0) {
    // A search at any moment of the batch, and one after it.
    const searched = Promise.all(always.map((query) => count(store, query)))
    more = await store.write.renewTerms({ limit: 4 })
    batches++
    for (const [index, found] of (await searched).entries())
      assert.ok(found >= before.get(always[index]!)!, `${always[index]} in batch ${batches}`)
    for (const query of always) assert.ok((await count(store, query)) >= before.get(query)!, `${query} after batch ${batches}`)
  }
  assert.ok(batches > texts.length * 2, String(batches))
  for (const query of onlyNow) assert.ok((await count(store, query)) >= perDocument, query)
  assert.deepEqual(await readIndex(place.at), current)
})

for (const moment of ['before-commit', 'after-commit'])
  void test(`knowledge: a kill ${moment} leaves a renewal that continues where it was`, async (t) => {
    const { place, current, count } = await setUp(t)
    for (const hit of [1, 5]) {
      assert.equal(await runs(t, { at: place.at, failpoints: `write.${moment}=kill@${hit}` }), 'SIGKILL')
      const store = await place.open()
      for (const query of always) assert.ok((await count(store, query)) >= perDocument, query)
      await store.close()
    }
    assert.notDeepEqual(await readIndex(place.at), current)
    assert.equal(await runs(t, { at: place.at, failpoints: '' }), 0)
    assert.deepEqual(await readIndex(place.at), current)
  })

void test('knowledge: what a process of the previous version indexes beside this one is found, and renewed by the indexer', async (t) => {
  const { place, current, count } = await setUp(t)
  assert.equal(await runs(t, { at: place.at, failpoints: '' }), 0)
  await makePrevious(place.at, 'beside')
  const store = await place.open()
  for (const query of always) assert.ok((await count(store, query)) >= perDocument, query)
  await store.close()
  const given: IndexingProcess = { at: place.at, key: randomBytes(32).toString('base64'), settings: {} }
  const indexer = fork(join(import.meta.dirname, '..', 'support', 'indexing-process.ts'), [JSON.stringify(given)], { stdio: 'inherit' })
  t.after(() => void indexer.kill('SIGKILL'))
  const exited = once(indexer, 'exit')
  await until('the index is a new one', async () => isDeepStrictEqual(await readIndex(place.at), current), 60_000)
  indexer.kill('SIGKILL')
  await exited
})

void test('knowledge: the rows of the previous version are as it made them', () => {
  assert.deepEqual(previousTermsOf('Refunds 退款了 résumé', null), ['refund', '退', '退款', '款', '款了', '了', 'resume'])
})
