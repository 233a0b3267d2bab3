/**
 * The positions of a query's words in a text, similar to the search: by the beginning of a word, regardless of case and accents, so that
 * "returning" highlights "returns". Pure.
 */
export type Piece = { text: string; marked: boolean }

// Common words of questions in English. In other languages such words are highlighted, which does no harm.
const everywhere = new Set(
  'the and for are was were how who why what when where which does did can could you your our with from this that have has'.split(' '),
)

/** The pieces in order. Together they are the text. */
export function highlight(text: string, query: string): Piece[] {
  const beginnings = beginningsOf(query)
  const pieces: Piece[] = []
  for (const { segment, isWordLike } of segmenter.segment(text)) {
    const word = isWordLike ? plain(segment) : ''
    const marked = word !== '' && beginnings.some(({ from, whole }) => (whole ? word === from : word.startsWith(from)))
    const last = pieces.at(-1)
    if (last?.marked === marked) last.text += segment
    else pieces.push({ text: segment, marked })
  }
  return pieces
}

// Also for languages without spaces.
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })
const plain = (word: string): string => word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

function beginningsOf(query: string): { from: string; whole: boolean }[] {
  const words = [...segmenter.segment(query)].filter(({ isWordLike }) => isWordLike).map(({ segment }) => plain(segment))
  const telling = words.filter((word) => !everywhere.has(word) && !/^[a-z]{1,2}$/.test(word))
  // A question may consist of such words only.
  return (telling.length > 0 ? telling : words).map((word) => ({ from: beginning(word), whole: word.length < 4 }))
}

/** The stem: up to three letters of a long word are cut, none of a short one. */
const beginning = (word: string): string => (word.length > 4 ? word.slice(0, -Math.min(3, Math.floor((word.length - 2) / 2))) : word)
