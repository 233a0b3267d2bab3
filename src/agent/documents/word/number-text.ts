/** Writes numbers in the formats that lists have, by the names that Word gives them. */

const romans: [number, string][] = [
  [1000, 'm'],
  [900, 'cm'],
  [500, 'd'],
  [400, 'cd'],
  [100, 'c'],
  [90, 'xc'],
  [50, 'l'],
  [40, 'xl'],
  [10, 'x'],
  [9, 'ix'],
  [5, 'v'],
  [4, 'iv'],
  [1, 'i'],
]
// A file may start a list at any number, and Roman numerals of large ones are long.
const maxRoman = 32_767
const maxLetters = 780
const hanDigits = '〇一二三四五六七八九'

/** Formats that few documents use are written as decimal numbers. */
export function numberText(value: number, format: string): string {
  switch (format) {
    case 'none':
    case 'bullet':
      return ''
    case 'decimalZero':
      return String(value).padStart(2, '0')
    case 'lowerLetter':
    case 'upperLetter': {
      if (value < 1 || value > maxLetters) return String(value)
      const letters = String.fromCharCode(97 + ((value - 1) % 26)).repeat(Math.ceil(value / 26))
      return format === 'upperLetter' ? letters.toUpperCase() : letters
    }
    case 'lowerRoman':
    case 'upperRoman': {
      const roman = romanText(value)
      return format === 'upperRoman' ? roman.toUpperCase() : roman
    }
    case 'ordinal':
      return `${value}${ordinalEnding(value)}`
    case 'decimalEnclosedCircle':
    case 'decimalEnclosedCircleChinese':
      return value >= 1 && value <= 20 ? String.fromCodePoint(0x2460 + value - 1) : String(value)
    case 'chineseCounting':
    case 'chineseCountingThousand':
    case 'japaneseCounting':
    case 'taiwaneseCounting':
    case 'taiwaneseCountingThousand':
      return hanText(value)
    default:
      return String(value)
  }
}

function romanText(value: number): string {
  if (value < 1 || value > maxRoman) return String(value)
  let left = value
  let text = ''
  for (const [size, letters] of romans) {
    text += letters.repeat(Math.floor(left / size))
    left %= size
  }
  return text
}

const ordinalEnding = (value: number): string =>
  value % 100 >= 11 && value % 100 <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][value % 10] ?? 'th')

function hanText(value: number): string {
  if (value < 1 || value > 99) return String(value)
  const [tens, ones] = [Math.floor(value / 10), value % 10]
  return `${tens > 1 ? hanDigits[tens] : ''}${tens > 0 ? '十' : ''}${ones > 0 ? hanDigits[ones] : ''}`
}
