/** Text for searches: words with the frequency distribution of a language, in which a question finds some passages and not all of them. */

/** The same numbers in every run. */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

const syllables = 'ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu bra cle dri flo gru ste'.split(' ')
const words = 30_000
// The most frequent ones are stop words, which are removed before a search.
const stopWords = 50

export type Words = {
  /** A text of this many words, with spaces between them. */
  textOf(words: number): string
  /** 3 to 10 words without stop words. */
  questionOf(): string
}

export function createWords(random: () => number): Words {
  const pick = (many: number): number => Math.floor(random() * many)
  const vocabulary = Array.from({ length: words }, () =>
    Array.from({ length: 2 + pick(3) }, () => syllables[pick(syllables.length)]).join(''),
  )
  // Zipf's law: the frequency of a word is one divided by its rank.
  const wordAt = (from: number): string => vocabulary[Math.floor(Math.exp(Math.log(from) + random() * Math.log(words / from))) - 1]!
  const text = (many: number, from: number): string => Array.from({ length: many }, () => wordAt(from)).join(' ')
  return { textOf: (many) => text(many, 1), questionOf: () => text(3 + pick(8), stopWords) }
}
