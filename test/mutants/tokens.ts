/**
 * Splits source code into tokens, so that a mutant is found by what its place says, and not by how it is laid out: white space, comments and
 * the comma that the formatter puts before a closing bracket are left out. Reads TypeScript, SQL files, and the SQL in strings.
 */
import jsTokens from 'js-tokens'

export type Token = {
  text: string
  /** Where it starts and ends in the text. `end` includes a formatter's comma that follows it. */
  start: number
  end: number
  /** Whether it is a name of the program, which a refactoring may change: not a keyword, and not a part of a string or of SQL. */
  isName: boolean
}

export type Tokens = {
  tokens: Token[]
  /** The comments with `mutant: NAME`. */
  marks: { name: string; end: number }[]
}

const piece = /[A-Za-z_$][\w$]*|\d[\w.]*|[^\s\w]/gu
const sqlComment = /--[^\n]*/g
const keywords = new Set(
  'as async await break case catch class const continue default delete do else export extends false finally for from function if import in instanceof let new null of return static super switch this throw true try type typeof undefined var void while yield'.split(
    ' ',
  ),
)
const isWord = (text: string): boolean => /^[A-Za-z_$]/.test(text)

/** `file` says by its ending which language the text is in. */
export function tokensOf(file: string, text: string): Tokens {
  const [tokens, marks]: [Token[], Tokens['marks']] = [[], []]
  const see = (comment: string, end: number): void => {
    const [, name] = /mutant: ([\w.-]*\w)/.exec(comment) ?? []
    if (name !== undefined) marks.push({ name, end })
  }
  if (file.endsWith('.sql')) {
    for (const { 0: comment, index } of text.matchAll(sqlComment)) see(comment, index + comment.length)
    // Blanks keep the offsets of what follows.
    add(
      tokens,
      text.replaceAll(sqlComment, (comment) => ' '.repeat(comment.length)),
      0,
      false,
    )
  } else {
    let at = 0
    for (const { type, value } of jsTokens(text)) {
      if (type === 'SingleLineComment' || type === 'MultiLineComment') see(value, at + value.length)
      else add(tokens, value, at, type === 'IdentifierName' || type === 'PrivateIdentifier')
      at += value.length
    }
  }
  return { tokens: withoutClosingCommas(tokens), marks }
}

/**
 * The tokens of a piece of code that need not be a whole expression or string, so every word that is not a keyword may be a name.
 */
export function tokensOfPiece(text: string): Token[] {
  const tokens: Token[] = []
  add(tokens, text, 0, true)
  return withoutClosingCommas(tokens)
}

/** Whether two versions of a file differ in layout and comments at most. */
export function isSameCode(file: string, before: string, now: string): boolean {
  if (!/\.(ts|sql)$/.test(file)) return before === now
  const [one, other] = [before, now].map((text) =>
    tokensOf(file, text)
      .tokens.map((token) => token.text)
      .join(' '),
  )
  return one === other
}

function add(to: Token[], text: string, at: number, isCode: boolean): void {
  for (const { 0: found, index } of text.matchAll(piece)) {
    const start = at + index
    to.push({ text: found, start, end: start + found.length, isName: isCode && isWord(found) && !keywords.has(found) })
  }
}

function withoutClosingCommas(tokens: Token[]): Token[] {
  return tokens.flatMap((token, index) => {
    const next = tokens[index + 1]
    if (token.text === ',' && /^[)\]}]$/.test(next?.text ?? '')) return []
    const after = tokens[index + 2]
    return next?.text === ',' && /^[)\]}]$/.test(after?.text ?? '') ? [{ ...token, end: next.end }] : [token]
  })
}
