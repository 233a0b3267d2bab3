/**
 * What is indexed and searched, on SQLite's FTS5 and on PostgreSQL's tsvector: words, and in scripts without spaces neighbouring characters.
 * Pure. A caller's text only ever becomes terms, never query syntax ("What is C++?" and "O'Brien" would throw).
 */

// Scripts that put no spaces between words: their characters are indexed one by one and searched in pairs.
const unspaced = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/gu
// What the index's tokenizer takes for a word, and the marks it drops, so that a word with marks stays one phrase.
const word = /[\p{L}\p{N}\p{M}\p{Co}]+/gu
// A question has a few dozen words; of a pasted text the beginning is enough, and thousands of words would make one search slow for all.
const mostTerms = 64
const mostCharacters = 4_000
// Longer than any word that is looked up; keeps 32,000 equal letters out of the expression.
const longestWord = 64
// BM25 makes little of words that many chunks have; in a small knowledge base hardly any chunk has "there", and it would count like a name.
const stopWords = new Set(
  `a about all also am an and any are as at be been but by can could did do does for from get had has have he her him his how i if in into is it
  its just ll may me my no not of on or our please re s she should so some t than that the their them then there these they this those to too
  us ve was we were what when where which who whom whose why will with would you your`.split(/\s+/),
)

/** The text as it is indexed: characters of unspaced scripts stand apart. */
export function indexedText(text: string): string {
  return text.replace(unspaced, ' $& ')
}

/** An agent's id as one indexed word. Two ids might become the same word, so the statement compares the id itself too. */
export function agentTerm(agentId: string): string {
  return agentId.replace(/[^\p{L}\p{N}]/gu, '')
}

/** An agent's id as a lexeme of PostgreSQL: no word of a text has a colon in it. Quoted it is a query by itself. */
export function agentLexeme(agentId: string): string {
  return `agent:${agentTerm(agentId)}`
}

/** The text as PostgreSQL indexes it: words alone, without marks, so that its parser makes nothing else of "1.5", an address or a path. */
export function indexedWords(text: string): string {
  return (indexedText(withoutMarks(text)).match(word) ?? []).join(' ')
}

/** The text of a tsquery for any of the words; undefined where the text has none. */
export function wordsQuery(text: string): string | undefined {
  const terms = distinct(termsOf(text), (term) => !stopWords.has(term)) ?? distinct(termsOf(text), () => true)
  const phrases = terms?.map((term) => (withoutMarks(term).match(word) ?? []).join(' <-> ')).filter((phrase) => phrase !== '')
  return phrases && phrases.length > 0 ? phrases.map((phrase) => `(${phrase})`).join(' | ') : undefined
}

const withoutMarks = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '')

/** The MATCH expression for an agent's chunks with any of the text's words; undefined where the text has none. */
export function matchExpression(agentId: string, text: string): string | undefined {
  // Stop words count where there is nothing else: "Who are The Who?"
  const terms = distinct(termsOf(text), (term) => !stopWords.has(term)) ?? distinct(termsOf(text), () => true)
  if (!terms) return undefined
  const anyTerm = terms.map((term) => `"${term}"`).join(' OR ')
  return `agent : "${agentTerm(agentId)}" AND {title text} : (${anyTerm})`
}

function distinct(terms: Iterable<string>, counts: (term: string) => boolean): string[] | undefined {
  const found = new Set<string>()
  for (const term of terms) {
    if (counts(term)) found.add(term)
    if (found.size === mostTerms) break
  }
  return found.size > 0 ? [...found] : undefined
}

/** Words, and pairs of characters of unspaced scripts; letters, digits and spaces alone. */
function* termsOf(text: string): Generator<string> {
  for (const [found] of text.slice(0, mostCharacters).matchAll(word)) {
    const parts = indexedText(found.toLowerCase())
      .split(' ')
      .filter((part) => part !== '')
    for (const [index, part] of parts.entries()) {
      const next = parts[index + 1]
      if (part.length > longestWord) continue
      if (!isUnspaced(part)) yield part
      else if (next !== undefined && isUnspaced(next)) yield `${part} ${next}`
      else if (!isUnspaced(parts[index - 1] ?? '')) yield part
    }
  }
}

const isUnspaced = (part: string): boolean => part.search(unspaced) === 0
