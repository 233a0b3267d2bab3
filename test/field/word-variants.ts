/** Words of many scripts, and other ways to write the same word that a reader takes for the same: for properties of the search by words. */
import fc from 'fast-check'

const range = (first: string, last: string): string[] =>
  Array.from({ length: last.codePointAt(0)! - first.codePointAt(0)! + 1 }, (_, n) =>
    String.fromCodePoint(first.codePointAt(0)! + n),
  ).filter((one) => /[\p{L}\p{Nd}]/u.test(one))

const latin = [...range('a', 'z'), ...'àáâãäåæçèéêëìíîïñòóôõöøùúûüýþßœłđħığşčšžąęőűơưạếǖ']
const letters: Record<string, string[]> = {
  latin,
  cyrillic: [...range('а', 'я'), ...'ёйїґў'],
  greek: [...range('α', 'ω'), ...'άέήίόύώϊΐ'],
  arabic: [...range('ء', 'غ'), ...range('ف', 'ي'), ...'کیگپچ'],
  hebrew: range('א', 'ת'),
  devanagari: range('क', 'ह'),
  thai: range('ก', 'ฮ'),
  lao: range('ກ', 'ຮ'),
  khmer: range('ក', 'អ'),
  burmese: range('က', 'အ'),
  georgian: range('ა', 'ჰ'),
  armenian: range('ա', 'ֆ'),
  hiragana: range('あ', 'ん'),
  katakana: range('ア', 'ン'),
  hangul: range('가', '힣').filter((_, index) => index % 7 === 0),
  han: range('一', '龥').filter((_, index) => index % 13 === 0),
  digits: [...'0123456789'],
}

const scripts = Object.keys(letters)

export const wordOf = (script: string, minLength = 1): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...letters[script]!), minLength, maxLength: 9 })

/** One word: a few letters of one script, or of two next to each other, with digits. */
export const anyWord: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: fc.constantFrom(...scripts).chain((script) => wordOf(script)), weight: 4 },
  fc
    .tuple(
      fc.constantFrom('latin', 'katakana', 'han', 'hangul').chain((script) => wordOf(script)),
      wordOf('digits'),
    )
    .map((parts) => parts.join('')),
)

// Zeros of decimal digits: Arabic, Persian, Devanagari, Bengali, Thai, Lao, Tibetan, Burmese, Khmer, Mongolian, full width, bold, double-struck.
const zeros = [...'٠۰०০๐໐༠၀០᠐０𝟎𝟘'].map((zero) => zero.codePointAt(0)!)
const unseen = ['\u00ad', '\u200d', '\u200e', '\u200f', '\u2060', '\ufeff', '\u061c', '\u2066', '\u2069', '\u034f', '\ufe0f', '\u180b']
const wide = (text: string): string => text.replace(/[!-~]/g, (one) => String.fromCharCode(one.charCodeAt(0) + 0xfee0))
const halfKatakana = new Map<string, string>()
for (let code = 0xff66; code <= 0xff9d; code++) {
  const half = String.fromCharCode(code)
  for (const mark of ['', 'ﾞ', 'ﾟ']) {
    const full = (half + mark).normalize('NFKC')
    if (full.length === 1) halfKatakana.set(full, half + mark)
  }
}

/** Ways to write a word; each takes a number that selects one of several. */
export const variants: Record<string, (word: string, choice: number) => string> = {
  'as it is': (word) => word,
  'upper case': (word) => word.toUpperCase(),
  'lower case': (word) => word.toLowerCase(),
  'first letter': (word) => word.slice(0, 1).toUpperCase() + word.slice(1),
  decomposed: (word) => word.normalize('NFD'),
  'compatibility form': (word) => word.normalize('NFKD'),
  'without accents': (word) => word.normalize('NFD').replace(/[\u0300-\u036f]/g, '').normalize('NFC'), // prettier-ignore
  'without letters of its own': (word) => word.replace(/[łđøæœßıħ]/g, (one) => ({ ł: 'l', đ: 'd', ø: 'o', æ: 'ae', œ: 'oe', ß: 'ss', ı: 'i', ħ: 'h' })[one]!), // prettier-ignore
  'Persian letters': (word) => word.replace(/[يك]/g, (one) => (one === 'ي' ? 'ی' : 'ک')),
  'full width': wide,
  'half width': (word) => word.replace(/[\u30a1-\u30fc]/g, (one) => halfKatakana.get(one) ?? one),
  'digits of another script': (word, choice) =>
    word.replace(/[0-9]/g, (digit) => String.fromCodePoint(zeros[choice % zeros.length]! + Number(digit))),
  'a character that is not seen': (word, choice) => {
    const [characters, one] = [[...word], unseen[choice % unseen.length]!]
    return characters.toSpliced(choice % characters.length, 0, one).join('')
  },
  'not seen after each character': (word, choice) => [...word].map((one) => one + unseen[choice % unseen.length]!).join(''),
  tatweel: (word) => word.replace(/(?<=[بتثسشصضفقلمن])(?=[\u0621-\u064a])/g, 'ـ'),
  'vowel signs': (word, choice) =>
    word
      .replace(/[\u0628-\u063a\u0641-\u0648]/g, (one) => one + String.fromCharCode(0x64b + (choice % 8)))
      .replace(/[\u05d0-\u05ea]/g, (one) => one + String.fromCharCode(0x5b0 + (choice % 8))),
  'space of zero width': (word, choice) => [...word].toSpliced(choice % ([...word].length + 1), 0, '\u200b').join(''),
}

/** A word in up to two of these ways, one after the other. */
export const anyVariant = (word: string): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(fc.constantFrom(...Object.values(variants)), fc.nat(1000)), { minLength: 1, maxLength: 2 })
    .map((steps) => steps.reduce((text, [variant, choice]) => variant(text, choice), word))
