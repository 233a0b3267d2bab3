/**
 * The terms that are indexed and searched, the same for SQLite's FTS5 and PostgreSQL's tsvector: stems of words, and for scripts without
 * spaces single characters and pairs of neighbors. Both engines receive only terms, which they neither split nor change. Pure. A caller's
 * text only ever becomes terms, never query syntax ("What is C++?" and "O'Brien" would throw).
 */
import { stemmerOf } from './stems.ts'
import type { Stem } from './stems.ts'

// Scripts that put no spaces between words.
const unspaced = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]\p{M}*/gu
const asciiWord = /[a-z0-9]+/g
const word = /[\p{L}\p{N}\p{M}\p{Co}]+/gu
// Many people omit accents and harakat when they write. Vowel signs of other scripts are never omitted.
const leftOut = /[\u0300-\u036f\u064b-\u065f]/g
// A question has a few dozen words. Of a pasted text, the start is sufficient; thousands of words would make one search slow for all.
const maxTerms = 64
const maxCharacters = 4_000
// Longer than any word that is looked up. Keeps 32,000 equal letters out of the index and the query.
const maxWord = 64
// BM25 gives little weight to words that many chunks contain. In a small knowledge base hardly any chunk contains "there", so it would
// count like a name.
const stopWords = new Set(
  `a about all also am an and any are as at be been but by can could did do does for from get had has have he her him his how i if in into is it
  its just ll may me my no not of on or our please re s she should so some t than that the their them then there these they this those to too
  us ve was we were what when where which who whom whose why will with would you your`.split(/\s+/),
)

/** The terms of a text, in order, as they are indexed. */
export function termsOf(text: string, language: string | null): string[] {
  const stem = stemmerOf(language)
  const terms: string[] = []
  for (const found of wordsOf(text)) pushTerms(terms, found, stem, 'index')
  return terms
}

/**
 * A term as it is stored in the full text: with the number of its agent's base, so that agents never share words (`knowledge.own`). No word
 * contains a colon.
 */
export const marked = (number: number, term: string): string => `${number}:${term}`

/** The distinct search terms of a text, stemmed for each of the languages. Stop words are used only if there is nothing else. */
export function queryTerms(text: string, languages: readonly (string | null)[]): string[] {
  const words = wordsOf(text.slice(0, maxCharacters))
  // "Who are The Who?"
  const telling = words.filter((one) => !stopWords.has(one))
  const stems = languages.map(stemmerOf)
  const terms = new Set<string>()
  for (const one of telling.length > 0 ? telling : words) {
    for (const stem of stems) {
      const made: string[] = []
      pushTerms(made, one, stem, 'query')
      for (const term of made) {
        terms.add(term)
        if (terms.size === maxTerms) return [...terms]
      }
    }
  }
  return [...terms]
}

/** Returns the words in lower case. */
function wordsOf(text: string): string[] {
  const lower = text.normalize('NFC').toLowerCase()
  // This takes half of a chunk's time, and most texts have no such letters.
  return lower.match(isAscii(lower) ? asciiWord : word) ?? []
}

/** For a run of unspaced characters, a query needs only the pairs. Single characters are indexed for queries of one character. */
function pushTerms(terms: string[], found: string, stem: Stem, use: 'index' | 'query'): void {
  if (isAscii(found)) {
    if (found.length <= maxWord) terms.push(stem(found))
    return
  }
  const parts = found.replace(unspaced, ' $& ').split(' ').filter(Boolean)
  for (const [index, part] of parts.entries()) {
    if (!isUnspaced(part)) {
      // Empty for a word of nothing but accents.
      const term = part.length <= maxWord ? plain(stem(part)) : ''
      if (term !== '') terms.push(term)
      continue
    }
    const next = parts[index + 1]
    const paired = next !== undefined && isUnspaced(next)
    if (use === 'index' || (!paired && !isUnspaced(parts[index - 1] ?? ''))) terms.push(part)
    if (paired) terms.push(part + next)
  }
}

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length

const isUnspaced = (part: string): boolean => part.search(unspaced) === 0

const plain = (term: string): string => term.normalize('NFD').replace(leftOut, '').normalize('NFC')
