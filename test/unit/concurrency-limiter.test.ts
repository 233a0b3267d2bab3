/** `overload.places`: how slots are shared, for every order of acquiring and releasing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ConcurrencyLimiter } from '../../src/turn/concurrency-limiter.ts'
import type { Release } from '../../src/turn/concurrency-limiter.ts'

/** As many as the owner gets, up to `most`. */
function fill(places: ConcurrencyLimiter, owner: string, most = 10_000): Release[] {
  const held: Release[] = []
  for (let place = places.take(owner); place; place = held.length < most ? places.take(owner) : undefined) held.push(place)
  return held
}

void test('overload.places: an owner takes nine tenths of the slots, also when it is alone, so the next owner always finds one', () => {
  for (const [most, taken] of [
    [1000, 900],
    [100, 90],
    [10, 9],
    [3, 2],
    [2, 1],
    // The only slot cannot be left for others.
    [1, 1],
  ] as const) {
    const places = new ConcurrencyLimiter(most)
    assert.equal(fill(places, 'ann').length, taken, `of ${most}`)
    if (most > 1) assert.ok(places.take('bob'), `of ${most}`)
  }
})

void test('overload.places: two flooding owners get nearly half each, ten nearly a tenth, and the next owner is still admitted', () => {
  for (const [owners, least, most] of [
    [1, 899, 900],
    [2, 472, 474],
    [10, 98, 100],
    [100, 9, 10],
  ] as const) {
    const places = new ConcurrencyLimiter(1000)
    const held = new Map<string, number>()
    for (let round = 0; round < 1000; round++) {
      for (let owner = 0; owner < owners; owner++)
        if (places.take(`owner-${owner}`)) held.set(`owner-${owner}`, (held.get(`owner-${owner}`) ?? 0) + 1)
    }
    for (const count of held.values()) assert.ok(count >= least && count <= most, `${owners} owners: ${count} places`)
    assert.equal(held.size, owners)
    assert.ok(places.take('guest'), `${owners} owners left no place`)
  }
})

void test('overload.places: a released slot goes to the owner with fewer slots, not to the one that fills the process', () => {
  const places = new ConcurrencyLimiter(10)
  const held = fill(places, 'ann')
  assert.equal(held.length, 9)
  assert.ok(places.take('bob'))
  held.pop()!()
  assert.ok(!places.take('bob') && !places.take('ann'), 'nor for one who has any')
  assert.ok(places.take('eve'))
})

void test('overload.places: never more slots than the limit, none lost, and an owner without one is admitted whenever one is free', () => {
  const step = fc.record({ owner: fc.nat(4), gives: fc.boolean(), which: fc.nat() })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.array(step, { maxLength: 400 }), (most, steps) => {
      const places = new ConcurrencyLimiter(most)
      const held = new Map<number, Release[]>()
      for (const { owner, gives, which } of steps) {
        const own = held.get(owner) ?? []
        held.set(owner, own)
        if (gives) own.splice(which % Math.max(1, own.length), 1)[0]?.()
        else {
          const { free } = places
          const place = places.take(`owner-${owner}`)
          if (place) own.push(place)
          assert.equal(places.free, place ? free - 1 : free)
          assert.ok(place || free === 0 || own.length > 0, 'one who holds none was refused a free place')
        }
        assert.equal(places.free, most - [...held.values()].flat().length)
      }
      for (const place of [...held.values()].flat()) place()
      assert.equal(places.free, most)
    }),
  )
})

void test('overload.places: recovered turns may exceed the limit, and then no slot is free until enough are released', () => {
  const places = new ConcurrencyLimiter(2)
  const found = [places.takeAnyway(), places.takeAnyway(), places.takeAnyway()]
  assert.deepEqual([places.free, places.take('ann')], [0, undefined])
  found.pop()!()
  assert.equal(places.take('ann'), undefined)
  for (const place of found) place()
  assert.equal(places.free, 2)
})
