/** Searching the vectors in memory finds nearly the same results as comparing with each of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VectorSet } from '../../src/agent/knowledge/vector-set.ts'

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

/** The same numbers in every run; about normally distributed. */
function createNoise(seed: number): () => number {
  let state = seed
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  return () => random() + random() + random() + random() - 2
}

const unit = (vector: Float32Array): Float32Array => {
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}

for (const [name, spread] of [
  ['in clusters, as texts are', 0.7],
  ['anywhere, which is the hardest', 1_000],
] as const) {
  void test(`knowledge: of 20,000 vectors ${name}, the nearest ten are the same as by comparing with each`, (t) => {
    const [dimensions, count, wanted] = [128, 20_000, 10]
    const noise = createNoise(7)
    // All texts of a corpus have something in common, which is all that the sign of each dimension alone would show.
    const common = Float32Array.from({ length: dimensions }, () => noise())
    const centres = Array.from({ length: 300 }, () => common.map((value) => value + noise()))
    const make = (place: number): Float32Array => unit(centres[place % centres.length]!.map((value) => value + spread * noise()))
    const vectors = Array.from({ length: count }, (_, place) => make(place))
    const set = new VectorSet(dimensions)
    for (let from = 0; from < count; from += 500) {
      const batch = vectors.slice(from, from + 500)
      const flat = new Float32Array(batch.length * dimensions)
      batch.forEach((vector, index) => flat.set(vector, index * dimensions))
      set.add(
        batch.map((_, index) => from + index + 1),
        batch.map((_, index) => `doc_${(from + index) % 40}`),
        flat,
      )
    }
    const exact = (query: Float32Array, fits: (place: number) => boolean): number[] =>
      vectors
        .map((vector, place) => ({ id: place + 1, score: fits(place) ? vector.reduce((sum, value, d) => sum + value * query[d]!, 0) : -2 }))
        .toSorted((a, b) => b.score - a.score)
        .slice(0, wanted)
        .map(({ id }) => id)
    const measure = (fits: (place: number) => boolean): number => {
      let right = 0
      const queries = 20
      for (let query = 0; query < queries; query++) {
        const vector = make(query * 7)
        const best = new Set(exact(vector, fits))
        right += set.nearest(vector, wanted).filter(({ chunkId }) => best.has(chunkId)).length
      }
      return right / (queries * wanted)
    }
    const whole = measure(() => true)
    // What is left after many documents are deleted, still above the number that is compared one by one.
    set.drop(new Set(Array.from({ length: 20 }, (_, n) => `doc_${n}`)))
    assert.equal(set.count, count / 2)
    const left = measure((place) => place % 40 >= 20)
    t.diagnostic(`recall@${wanted}: ${percent(whole)}, after half of them went ${percent(left)}`)
    assert.ok(whole >= 0.98 && left >= 0.98)
  })
}

void test('knowledge: vectors that were added and moved before the next search are found', () => {
  const [dimensions, count, added] = [64, 20_000, 500]
  const noise = createNoise(11)
  const make = (): Float32Array => unit(Float32Array.from({ length: dimensions }, () => noise()))
  const set = new VectorSet(dimensions)
  const add = (vectors: Float32Array[], firstId: number, documentOf: (index: number) => string): void => {
    const flat = new Float32Array(vectors.length * dimensions)
    vectors.forEach((vector, index) => flat.set(vector, index * dimensions))
    set.add(
      vectors.map((_, index) => firstId + index),
      vectors.map((_, index) => documentOf(index)),
      flat,
    )
  }
  add(Array.from({ length: count }, make), 0, (index) => (index < 2_000 ? 'old' : 'kept'))
  set.nearest(make(), 1)
  const fresh = Array.from({ length: added }, make)
  add(fresh, count, () => 'new')
  // Two pages of changes, as a large upload is read, with no search in between.
  set.drop(new Set(['old']))
  for (let index = 0; index < added; index += 25) assert.equal(set.nearest(fresh[index]!, 1)[0]!.chunkId, count + index)
})
