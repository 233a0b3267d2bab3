/**
 * The search terms of the previous version of terms.ts, for documents whose chunks still have its terms. Only queries use it: nothing is
 * indexed with it. Pure. Never changed: the next version of the rules replaces it by a copy of what was then current.
 */
import { stemmerOf } from './stems.ts'
import type { Stem } from './stems.ts'
import { isStopWord, maxCharacters } from './terms.ts'

const unspaced = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]\p{M}*/gu
const asciiWord = /^[a-z0-9]+$/
const word = /[\p{L}\p{N}\p{M}\p{Co}]+/gu
const leftOut = /[\u0300-\u036f\u064b-\u065f]/g
const maxTerms = 64
const maxWord = 64

/** The distinct search terms of a text as version 1 made them, for each of the languages. */
export function previousQueryTerms(text: string, languages: readonly (string | null)[]): string[] {
  const words = text.slice(0, maxCharacters).normalize('NFC').toLowerCase().match(word) ?? []
  const telling = words.filter((one) => !isStopWord(one))
  const stems = languages.map(stemmerOf)
  const terms = (telling.length > 0 ? telling : words).flatMap((one) => stems.flatMap((stem) => termsOfWord(one, stem)))
  return [...new Set(terms)].slice(0, maxTerms)
}

function termsOfWord(found: string, stem: Stem): string[] {
  if (asciiWord.test(found)) return found.length <= maxWord ? [stem(found)] : []
  const parts = found.replace(unspaced, ' $& ').split(' ').filter(Boolean)
  return parts.flatMap((part, index): string[] => {
    if (!isUnspaced(part)) return part.length <= maxWord ? [plain(stem(part))].filter(Boolean) : []
    const next = parts[index + 1]
    if (next !== undefined && isUnspaced(next)) return [part + next]
    return isUnspaced(parts[index - 1] ?? '') ? [] : [part]
  })
}

const isUnspaced = (part: string): boolean => part.search(unspaced) === 0

const plain = (term: string): string => term.normalize('NFD').replace(leftOut, '').normalize('NFC')
