/**
 * Where a text has the words of a query, nearly as a search finds them: by the beginning of a word, whatever its case and accents, so that
 * "returning" marks "returns". Pure; what is shown is made of text alone.
 */
export type Piece = { text: string; marked: boolean }

// What questions everywhere are made of, in the language of most texts; in others they are marked, which is noise and no harm.
const everywhere = new Set(
  'the and for are was were how who why what when where which does did can could you your our with from this that have has'.split(' '),
)

/** The pieces in order; put together they are the text. */
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

// Also of languages that write no spaces.
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })
const plain = (word: string): string => word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

function beginningsOf(query: string): { from: string; whole: boolean }[] {
  const words = [...segmenter.segment(query)].filter(({ isWordLike }) => isWordLike).map(({ segment }) => plain(segment))
  const telling = words.filter((word) => !everywhere.has(word) && !/^[a-z]{1,2}$/.test(word))
  // A question of such words alone is still a question.
  return (telling.length > 0 ? telling : words).map((word) => ({ from: beginning(word), whole: word.length < 4 }))
}

/** Without what inflection changes: nothing of a short word, and up to three letters of a long one. */
const beginning = (word: string): string => (word.length > 4 ? word.slice(0, -Math.min(3, Math.floor((word.length - 2) / 2))) : word)
