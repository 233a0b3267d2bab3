/** Random choices that are the same for the same seed on every machine. */

export type Random = {
  /** A whole number from `min` to `max`, both included. */
  whole(min: number, max: number): number
  /** One of `items`, which must not be empty. */
  pick<Item>(items: readonly Item[]): Item
  /** `count` different items in random order, or all of them where there are fewer. */
  sample<Item>(items: readonly Item[], count: number): Item[]
  /** True with this probability, from 0 to 1. */
  chance(probability: number): boolean
}

/** `seed` is a whole number from 0 to 2^32 - 1. The generator is mulberry32: small, fast, and good enough for sample data. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))
  return {
    whole,
    pick: (items) => items[whole(0, items.length - 1)]!,
    sample(items, count) {
      const left = [...items]
      return Array.from({ length: Math.min(count, left.length) }, () => left.splice(whole(0, left.length - 1), 1)[0]!)
    },
    chance: (probability) => next() < probability,
  }
}
