/**
 * The stems of words, by our own code, so that both engines index and search the same ones: "shipping" is found by "ship". Stemmers are loaded
 * when a language is first used; synchronously, since a store thread answers a group of calls before it takes the next one.
 */
import { createRequire } from 'node:module'

/** What an agent's `knowledge.language` may name. Null is English; `none` leaves words as they are, for names, codes and mixed texts. */
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

/** Of a word in lower case. */
export type Stem = (word: string) => string

const load = createRequire(import.meta.url)
const stemmers = new Map<string, Stem>()
const onlyLetters = /^[\p{L}\p{N}\p{M}\p{Co}]+$/u
// A stem costs microseconds and the words of a language come again and again; a few megabytes for each language in use.
const maxKnown = 50_000

/** A language that is not known leaves words as they are. */
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
    const made = stemmer(word)
    // A stem goes into a query's text unquoted by anything but this.
    const stem = onlyLetters.test(made) ? made : word
    if (stems.size >= maxKnown) stems.clear()
    stems.set(word, stem)
    return stem
  }
}
