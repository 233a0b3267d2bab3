/**
 * Normalizes texts for the search by words: one form for all ways to write the same word, in the index and in queries. In this order:
 * compatibility forms and width, invisible characters, digits, case, letters with a stroke or a ligature, accents and vowel points. Uses
 * only properties of characters that never change between versions of Unicode, because the index is stored. Pure.
 */

// White space of zero width that separates parts of one visible word: a place for a line break, and a Persian suffix that does not join.
const joint = /[\u200b\u200c]/g
// Soft hyphens, marks of direction, joiners, variation selectors and the like: a reader does not see them.
const invisible = /[[\p{Default_Ignorable_Code_Point}\p{Cf}\u0640]--[\u200b\u200c]]/gv
// Letters that are written as apostrophes. Apostrophes separate words, whichever character is used for them.
const apostrophe = /[\u02b9-\u02bf\u02c8\u02ca\u02cb\ua78b\ua78c]/g
// The sign of a Hebrew acronym, which many people omit.
const insideHebrew = /(?<=\p{Script=Hebrew}\p{M}*)["'\u05f3\u05f4\u2018\u2019\u201c\u201d](?=\p{Script=Hebrew})/gu
const foreignDigit = /[\p{Nd}--[0-9]]/gv
// What the replacements below concern. Most texts have none of it, and each of them reads the whole text.
const unusual =
  /[[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Nd}\u0640\u02b9-\u02bf\u02c8\u02ca\u02cb\ua78b\ua78c\p{Script=Hebrew}]--[0-9\u200b\u200c]]/v
// Accents, Hebrew points, Arabic vowel signs, and the dot of borrowed letters in Devanagari. Vowel signs of other scripts are never omitted.
const leftOut = new RegExp(
  `[${[
    '\\u0300-\\u036f\\u0483-\\u0489\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff\\ufe20-\\ufe2f',
    '\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7',
    '\\u0610-\\u061a\\u064b-\\u065f\\u0670\\u06d6-\\u06dc\\u06df-\\u06e4\\u06e7\\u06e8\\u06ea-\\u06ed\\u08ca-\\u08e1\\u08e3-\\u08ff',
    '\\u0711\\u0730-\\u074a\\u093c',
  ].join('')}]`,
  'g',
)
// What Unicode does not decompose, as people write it who do not have the letter.
const replacements = new Map(
  `ł:l đ:d ð:d ø:o æ:ae œ:oe þ:th ħ:h ŧ:t ŋ:n ı:i ĸ:k ə:e ß:ss ς:σ ƀ:b ɓ:b ɗ:d ɖ:d ƒ:f ƙ:k ƥ:p ƭ:t ƴ:y ƶ:z ɨ:i ʉ:u ɔ:o ɛ:e ґ:г
  ى:ي ی:ي ے:ي ې:ي ک:ك ڪ:ك ة:ه ہ:ه ھ:ه ۃ:ه ە:ه ٱ:ا ך:כ ם:מ ן:נ ף:פ ץ:צ`
    .split(/\s+/)
    .map((pair): [string, string] => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)]),
)
const replaced = new RegExp(`[${[...replacements.keys()].join('')}]`, 'g')

// A call into the runtime takes longer than to read a word.
const shortText = 32

export function isAscii(text: string): boolean {
  if (text.length > shortText) return Buffer.byteLength(text) === text.length
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false
  return true
}

/** The text in lower case with its accents, as stemmers expect it. Joints are kept, for `joinedParts`. */
export function lowered(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  const compatible = text.normalize('NFKC')
  if (!unusual.test(compatible)) return compatible.toLowerCase()
  return compatible
    .replace(invisible, '')
    .replace(apostrophe, "'")
    .replace(insideHebrew, '')
    .replace(foreignDigit, asciiDigit)
    .toLowerCase()
    .normalize('NFKC')
}

/** A word of `lowered` without accents, and with one form for the letters that stand for each other. */
export function folded(word: string): string {
  if (isAscii(word)) return word
  const letters = word.normalize('NFKD').replace(leftOut, '')
  // Upper case first: some letters have the same capitals and different small forms.
  const small = letters.toUpperCase().toLowerCase()
  return small.replace(replaced, (letter) => replacements.get(letter)!).normalize('NFC')
}

/** The form that is the same for every way to write the text. */
export const normalize = (text: string): string => folded(lowered(text).replace(joint, ''))

/** A word without its joints, followed by its parts if it has any: a reader may see one word or several. */
export function joinedParts(word: string): string[] {
  if (word.search(joint) < 0) return [word]
  const parts = word.split(joint).filter((part) => part.length > 1)
  return [word.replace(joint, ''), ...(parts.length > 1 ? parts : [])].filter(Boolean)
}

const digits = new Map<string, string>()

/** The digits of each script are ten consecutive characters. The mathematical ones, which follow each other, are compatibility forms. */
function asciiDigit(digit: string): string {
  const known = digits.get(digit)
  if (known !== undefined) return known
  const code = digit.codePointAt(0)!
  let value = 0
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value++
  digits.set(digit, String(value))
  return String(value)
}
