/**
 * Random numbers from a seed: the same seed always gives the same numbers, on every machine. Mulberry32 with 32 bits of state: good enough
 * for choosing times and faults, never for a secret. `fork` makes a separate stream from the seed and a name, whatever was drawn before, so
 * one part's draws never change those of another.
 */

export type Random = {
  /** Both ends are included. */
  int(min: number, max: number): number
  /** True with this probability, from 0 to 1. */
  chance(probability: number): boolean
  pick<Item>(items: readonly Item[]): Item
  /** A new list. */
  shuffle<Item>(items: readonly Item[]): Item[]
  fork(name: string): Random
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }

  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))

  return {
    int,
    chance: (probability) => next() < probability,
    pick(items) {
      if (items.length === 0) throw new Error('nothing to pick from')
      return items[int(0, items.length - 1)]!
    },
    shuffle(items) {
      const shuffled = [...items]
      for (let at = shuffled.length - 1; at > 0; at--) {
        const other = int(0, at)
        ;[shuffled[at], shuffled[other]] = [shuffled[other]!, shuffled[at]!]
      }
      return shuffled
    },
    fork: (name) => createRandom(hash(`${seed >>> 0} ${name}`)),
  }
}

/** FNV-1a of the UTF-16 code units, with a final mixing step so that similar names give different seeds. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  value ^= value >>> 16
  value = Math.imul(value, 0x85ebca6b)
  return (value ^ (value >>> 13)) >>> 0
}
