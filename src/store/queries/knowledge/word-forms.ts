/**
 * The forms by which one word is found, beside its stem: Arabic and Hebrew words without the prefixes that are written together with them,
 * Korean words without their particles, words with letters such as `ü` as they are spelled without them, and the parts of long compound
 * words. All words are normalized. Pure.
 */
import type { Language, Stem } from './stems.ts'

const arabic = /^[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff]+$/
const hebrew = /^[\u05d0-\u05ea]+$/

// Conjunction, preposition and article, in the order in which a word has them. Each may also be the first letter of the word itself.
const arabicPrefixes = [/^[وف](?=...)/, /^[بكلس](?=...)/, /^(?:ال|ل(?=.))(?=..)/]
const arabicEnding = /(?<=...)(?:ها|ان|ات|ون|ين|يه|هم|نا|ه|ي)$/
// Most words that begin with one of these letters begin with it as a prefix, and most plurals have one of these endings.
const hebrewPrefix = /^[הובלמשכ](?=...)/
const hebrewEnding = /(?<=...)(?:יות|ים|ימ|ות|ית|ה|ת|י)$/
const maxHebrewPrefixes = 3

/** Forms of a word of a script whose words begin with prefixes; undefined for other scripts. The first one is the whole word. */
export function prefixedForms(word: string): string[] | undefined {
  if (arabic.test(word)) {
    const forms = [word]
    for (const prefix of arabicPrefixes) forms.push(forms.at(-1)!.replace(prefix, ''))
    return distinct(forms.map((form) => form.replace(arabicEnding, '')))
  }
  if (!hebrew.test(word)) return undefined
  const forms = [word]
  for (let rest = word; forms.length <= maxHebrewPrefixes && hebrewPrefix.test(rest);) forms.push((rest = rest.slice(1)))
  return distinct(forms.map((form) => form.replace(hebrewEnding, '')))
}

// Particles, and endings of verbs and of polite sentences. The longest one that matches is the ending.
const koreanEndings =
  `은 는 이 가 을 를 에 의 도 와 과 로 만 나 랑 에서 에게 한테 께서 으로 로서 으로서 로써 하고 이나 이랑 까지 부터 마다 조차 처럼 보다 밖에 대로 에는 에도
  에서는 에서도 에게서 으로는 으로도 로는 까지는 부터는 과의 와의 입니다 입니까 이에요 예요 인가요 이나요 인지 이란 란 라는 이라는 이라고 라고 합니다 합니까 하나요 하는
  하는지 하려면 하면 하고 하기 하여 해서 해야 해요 해도 했어요 할까요 할 한 됩니다 됩니까 되나요 되는 되는지 되면 된 될까요 습니다 습니까 나요 는지 은지 을까요 ㄹ까요 세요
  으세요 하세요 려면 으려면 면 으면 어요 아요 어야 아야 어도 아도 고 지 있나요 있습니까 있습니다 주세요`
    .split(/\s+/)
    .toSorted((a, b) => b.length - a.length)

/** A run of Hangul without its particle or ending, which is one syllable at least. */
export function withoutKoreanEnding(run: string): string {
  const ending = koreanEndings.find((one) => run.endsWith(one) && run.length > one.length)
  return ending === undefined ? run : run.slice(0, -ending.length)
}

// `ae`, `oe` and `ue` are how the letters with two dots are written where they are missing, apart from diphthongs (`neue`, `Quelle`).
const digraphs: Partial<Record<string, RegExp>> = {
  german: /(?<![aeq])[aou]e/g,
  danish: /aa|ae|oe/g,
  norwegian: /aa|ae|oe/g,
  swedish: /aa|ae|oe/g,
} satisfies Partial<Record<Language, RegExp>>

/** One spelling for `Müller` and `Mueller`, whose accents are already removed. */
export function oneSpelling(plain: string, language: string): string {
  const digraph = digraphs[language]
  return digraph ? plain.replace(digraph, (letters) => letters[0]!) : plain
}

// The agent's language is one that has no such letters: they are those of a name.
const borrowing = new Set<string>(['english', 'dutch', 'none'] satisfies Language[])
const spelledOut: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', å: 'aa', ø: 'oe' }

/** The word as it is spelled where these letters are missing; undefined if it has none of them. */
export function otherSpelling(word: string, language: string): string | undefined {
  if (!borrowing.has(language) || !/[äöüåø]/.test(word)) return undefined
  return word.replace(/[äöüåø]/g, (letter) => spelledOut[letter]!)
}

// Endings that stemmers of these languages know only with their accents, which many people omit.
const accentedEndings: Partial<Record<string, [plain: RegExp, accented: string][]>> = {
  spanish: [[/(?<=[cs])ion$/, 'ión']],
  portuguese: [
    [/cao$/, 'ção'],
    [/coes$/, 'ções'],
    [/([aei])ncia(s?)$/, '$1\u0302ncia$2'],
    [/([ai])vel$/, '$1\u0301vel'],
  ],
  french: [[/te(s?)$/, 'té$1']],
  italian: [[/ta$/, 'tà']],
} satisfies Partial<Record<Language, [RegExp, string][]>>

/** The word as it is written with the accent of its ending; undefined if it has no such ending. */
export function withAccent(plain: string, language: string): string | undefined {
  const ending = accentedEndings[language]?.find(([without]) => without.test(plain))
  return ending && plain.replace(ending[0], ending[1]).normalize('NFC')
}

// Languages that write compounds as one word.
const compounding = new Set<string>(['german', 'dutch', 'danish', 'norwegian', 'swedish', 'finnish', 'hungarian'] satisfies Language[])
// Shorter parts are endings and prefixes rather than words.
const minPart = 4
const minRest = 4
const minCompound = 9
// Longer parts are compounds themselves, and are found by their own parts.
const maxPart = 16

/** The beginnings, and the stems of the ends, of a long word: those that are words themselves are among them. */
export function compoundParts(plain: string, language: string, stem: Stem): string[] {
  if (!compounding.has(language) || plain.length < minCompound) return []
  const lengths = Array.from({ length: Math.min(maxPart, plain.length - minRest) - minPart + 1 }, (_, index) => minPart + index)
  const ends = lengths.map((length) => stem(plain.slice(-length))).filter((end) => end.length >= minPart)
  return distinct([...lengths.map((length) => plain.slice(0, length)), ...ends])
}

/** Whether a word may be part of a longer one. */
export const isPart = (stem: string, language: string): boolean =>
  compounding.has(language) && stem.length >= minPart && stem.length <= maxPart

const distinct = (forms: string[]): string[] => [...new Set(forms)]

/** Whether a word of ASCII letters may have other forms than its stem. */
export const hasMoreForms = (language: string): boolean => compounding.has(language) || language in accentedEndings || language in digraphs
