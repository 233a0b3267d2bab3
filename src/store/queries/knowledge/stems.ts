/**
 * Stems words in this program, so that both engines index and search the same stems: "shipping" finds "ship". A stemmer is loaded when its
 * language is first used, synchronously, because a store thread answers a group of calls before it takes the next one.
 */
import { createRequire } from 'node:module'

/** The values of an agent's `knowledge.language`. Null is English. `none` leaves words unchanged, for names, codes and mixed texts. */
export const languages = [
  'none',
  'arabic',
  'armenian',
  'bulgarian',
  'danish',
  'dutch',
  'english',
  'finnish',
  'french',
  'german',
  'greek',
  'hungarian',
  'indian',
  'indonesian',
  'irish',
  'italian',
  'lithuanian',
  'nepali',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'sanskrit',
  'serbian',
  'spanish',
  'swedish',
  'tamil',
  'turkish',
  'ukrainian',
] as const
export type Language = (typeof languages)[number]

export const isLanguage = (name: string): name is Language => languages.some((known) => known === name)

/** The stem of a word in lower case. */
export type Stem = (word: string) => string

const load = createRequire(import.meta.url)
const stemmers = new Map<string, Stem>()
const onlyLetters = /^[\p{L}\p{N}\p{M}\p{Co}]+$/u
// Stemming takes microseconds, and the same words occur again and again. The cache takes a few megabytes for each language in use.
const maxKnown = 50_000

/** Words of an unknown language are left unchanged. */
export function stemmerOf(language: string | null): Stem {
  const name = language ?? 'english'
  const known = stemmers.get(name)
  if (known) return known
  const stem = name !== 'none' && isLanguage(name) ? remembered((load(`@orama/stemmers/${name}`) as { stemmer: Stem }).stemmer) : asItIs
  stemmers.set(name, stem)
  return stem
}

const asItIs: Stem = (word) => word

function remembered(stemmer: Stem): Stem {
  const stems = new Map<string, string>()
  return (word) => {
    const known = stems.get(word)
    if (known !== undefined) return known
    const stem = stemOf(stemmer, word)
    if (stems.size >= maxKnown) stems.clear()
    stems.set(word, stem)
    return stem
  }
}

function stemOf(stemmer: Stem, word: string): string {
  try {
    const made = stemmer(word)
    // A stem becomes part of a query without any other quoting.
    return onlyLetters.test(made) ? made : word
  } catch {
    // Some stemmers throw for words of their language (Bulgarian: ааааък).
    return word
  }
}
