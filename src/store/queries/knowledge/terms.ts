/**
 * The terms that are indexed and searched, the same for SQLite's FTS5 and PostgreSQL's tsvector: words in one normalized form, their stems
 * and other forms, and for scripts without spaces single characters and pairs of neighbors. Both engines receive only terms, which they
 * neither split nor change. Pure. A caller's text only ever becomes terms, never query syntax ("What is C++?" and "O'Brien" would throw).
 */
import { folded, isAscii, joinedParts, lowered } from './normalize.ts'
import { stemmerOf } from './stems.ts'
import {
  compoundParts,
  hasMoreForms,
  isPart,
  oneSpelling,
  otherSpelling,
  prefixedForms,
  withAccent,
  withoutKoreanEnding,
} from './word-forms.ts'

/**
 * The version of the rules in this file and in those that it uses. Raise it when a text gets other terms than before: the chunks of all
 * documents are then given new ones (renew-terms.ts). Its value is also in the index `documents_with_previous_terms`.
 */
export const termsVersion = 2

// Scripts that put no spaces between words, and Hangul, whose words carry particles.
const unspaced =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Yi}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Tai_Le}\p{scx=New_Tai_Lue}\p{scx=Tai_Tham}\p{scx=Tai_Viet}\p{scx=Javanese}\p{scx=Balinese}]\p{M}*/gu
const hangulRun = /^\p{sc=Hangul}+$/u
const asciiWord = /[a-z0-9]+/g
const word = /[\p{L}\p{N}\p{M}\p{Co}\u200b\u200c]+/gu
// A question has a few dozen words. Of a pasted text, the start is sufficient; thousands of words would make one search slow for all.
const maxWords = 64
/** How many terms are looked up for a query: several forms of each word. */
export const maxTerms = 256
export const maxCharacters = 4_000
// Longer than any word that is looked up. Keeps 32,000 equal letters out of the index and the query.
const maxWord = 64
// BM25 gives little weight to words that many chunks contain. In a small knowledge base hardly any chunk contains "there", so it would
// count like a name.
const stopWords = new Set(
  `a about all also am an and any are as at be been but by can could did do does for from get had has have he her him his how i if in into is it
  its just ll may me my no not of on or our please re s she should so some t than that the their them then there these they this those to too
  us ve was we were what when where which who whom whose why will with would you your`.split(/\s+/),
)

export const isStopWord = (one: string): boolean => stopWords.has(one)

/** The terms of a text, in order, as they are indexed. */
export function termsOf(text: string, language: string | null): string[] {
  const name = language ?? 'english'
  const stem = stemmerOf(name)
  const isPlain = !hasMoreForms(name)
  const terms: string[] = []
  for (const found of wordsOf(text)) {
    // Most words of most texts.
    if (isPlain && found.length <= maxWord && isAscii(found)) terms.push(stem(found))
    else pushTerms(terms, found, name, 'index')
  }
  return terms
}

/**
 * A term as it is stored in the full text: with the number of its agent's base, so that agents never share words (`knowledge.own`). No word
 * contains a colon.
 */
export const marked = (number: number, term: string): string => `${number}:${term}`

/** The term of a word as a part of longer ones. */
const asPart = (part: string): string => `:${part}`

/** The distinct search terms of a text, for each of the languages. Stop words are used only if there is nothing else. */
export function queryTerms(text: string, languages: readonly (string | null)[]): string[] {
  const words = wordsOf(text.slice(0, maxCharacters))
  // "Who are The Who?"
  const telling = words.filter((one) => !isStopWord(one))
  const terms = new Set<string>()
  for (const one of (telling.length > 0 ? telling : words).slice(0, maxWords)) {
    for (const language of languages) {
      const made: string[] = []
      pushTerms(made, one, language ?? 'english', 'query')
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
  const lower = lowered(text)
  // This takes half of a chunk's time, and most texts have no such letters.
  return lower.match(isAscii(lower) ? asciiWord : word) ?? []
}

type Use = 'index' | 'query'

function pushTerms(terms: string[], found: string, language: string, use: Use): void {
  if (isAscii(found)) return pushForms(terms, found, language, use)
  for (const joined of joinedParts(found)) {
    if (joined.search(unspaced) < 0) pushForms(terms, joined, language, use)
    else pushMixed(terms, joined, language, use)
  }
}

// The same words occur again and again. A word of a compounding language has a dozen forms, so this takes up to ten megabytes each.
const maxKnown = 10_000
const knownForms = new Map<string, Map<string, string[]>>()

function pushForms(terms: string[], found: string, language: string, use: Use): void {
  if (use === 'query') return pushNewForms(terms, found, language, use)
  const known = knownForms.get(language) ?? new Map<string, string[]>()
  if (known.size === 0 || known.size >= maxKnown) knownForms.set(language, new Map())
  let forms = known.get(found)
  if (!forms) {
    forms = []
    pushNewForms(forms, found, language, use)
    knownForms.get(language)!.set(found, forms)
  }
  for (const form of forms) terms.push(form)
}

/** The stem of a word and its other forms. */
function pushNewForms(terms: string[], found: string, language: string, use: Use): void {
  const stem = stemmerOf(language)
  const written = folded(found)
  const plain = oneSpelling(written, language)
  // Empty for a word of nothing but accents.
  if (plain === '' || plain.length > maxWord || found.length > maxWord) return
  const own = stem(plain)
  terms.push(own)
  const others: string[] = []
  const accented = withAccent(plain, language)
  if (accented !== undefined) others.push(folded(stem(accented)))
  if (!isAscii(found)) {
    // The endings of some languages have accents that their stemmers need.
    others.push(oneSpelling(folded(stem(found)), language), ...(prefixedForms(plain) ?? []))
    const spelled = otherSpelling(found, language)
    if (spelled !== undefined) others.push(stem(folded(spelled)))
  }
  for (const form of new Set(others)) if (form !== own && form !== '') terms.push(form)
  pushParts(terms, plain, own, language, use)
  // `oe` in `Kontoeintritt` is where two parts meet.
  if (use === 'index' && written !== plain) for (const part of compoundParts(written, language, stem)) terms.push(asPart(part))
}

/** A compound is indexed by its parts too. A query for a part finds it, and a query for a compound finds its parts. */
function pushParts(terms: string[], plain: string, own: string, language: string, use: Use): void {
  const parts = compoundParts(plain, language, stemmerOf(language))
  if (use === 'index') for (const part of parts) terms.push(asPart(part))
  if (use === 'query' && isPart(own, language)) terms.push(asPart(own))
  if (use === 'query') terms.push(...parts)
}

/**
 * For a run of unspaced characters, a query needs only the pairs. Single characters are indexed for queries of one character. Neighbors of
 * other scripts are words of their own.
 */
function pushMixed(terms: string[], found: string, language: string, use: Use): void {
  const parts = folded(found).replace(unspaced, ' $& ').split(' ').filter(Boolean)
  for (let at = 0; at < parts.length;) {
    if (!isUnspaced(parts[at]!)) {
      pushForms(terms, parts[at]!, language, use)
      at++
      continue
    }
    const length = parts.slice(at).findIndex((part) => !isUnspaced(part))
    const run = parts.slice(at, length < 0 ? undefined : at + length)
    if (use === 'index') pushRun(terms, run)
    else pushAsked(terms, run)
    at += run.length
  }
}

function pushRun(terms: string[], run: string[]): void {
  for (const [index, part] of run.entries()) {
    terms.push(part)
    if (index + 1 < run.length) terms.push(part + run[index + 1]!)
  }
}

function pushAsked(terms: string[], run: string[]): void {
  const pairs = (some: string[]): string[] => (some.length === 1 ? some : some.slice(1).map((part, index) => some[index]! + part))
  const text = run.join('')
  if (!hangulRun.test(text)) return void terms.push(...pairs(run))
  const rest = [...withoutKoreanEnding(text)]
  // Of two syllables, the second one may be a particle or not.
  if (rest.length === 1 && run.length === 2) terms.push(text)
  terms.push(...pairs(rest))
}

const isUnspaced = (part: string): boolean => part.search(unspaced) === 0
