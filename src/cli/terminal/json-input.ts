/** Parses JSON that a person has written, in a file or an option. An error has the line and the column at which the text is not JSON. */
import { CommandFailed } from './command-failed.ts'

/** `source` names the text in the error, such as a file. Throws CommandFailed with code 2. */
export function parseJson(text: string, source: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const { line, column, found } = firstFault(text)
    throw new CommandFailed(2, `${source} is not valid JSON: line ${line}, column ${column}: ${found}`)
  }
}

const space = /[ \t\n\r]*/y
const scalar =
  /"(?:[^"\\\p{Cc}]|\u007f|[\u0080-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)/uy

type Expected =
  | 'a value'
  | 'a value or ]'
  | 'a name in double quotes'
  | 'a name in double quotes or }'
  | 'a colon'
  | 'a comma or ]'
  | 'a comma or }'
  | 'the end'

/** JSON.parse does not report every position, and describes it by an offset. */
function firstFault(text: string): { line: number; column: number; found: string } {
  const open: (']' | '}')[] = []
  let expected: Expected = 'a value'
  let at = 0
  const match = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0] ?? ''
    at += found.length
    return found
  }
  const afterValue = (): Expected => (open.length === 0 ? 'the end' : `a comma or ${open.at(-1)!}`)
  const close = (): Expected => {
    open.pop()
    at++
    return afterValue()
  }
  for (;;) {
    match(space)
    const next = text[at] ?? ''
    if (expected.startsWith('a value')) {
      if (next === ']' && expected === 'a value or ]') expected = close()
      else if (next === '[' || next === '{') {
        open.push(next === '[' ? ']' : '}')
        at++
        expected = next === '[' ? 'a value or ]' : 'a name in double quotes or }'
      } else if (match(scalar) !== '') expected = afterValue()
      else break
    } else if (expected.startsWith('a name')) {
      if (next === '}' && expected === 'a name in double quotes or }') expected = close()
      else if (next === '"' && match(scalar) !== '') expected = 'a colon'
      else break
    } else if (expected === 'a colon' && next === ':') {
      at++
      expected = 'a value'
    } else if (next === ',' && expected.startsWith('a comma')) {
      at++
      expected = open.at(-1) === ']' ? 'a value' : 'a name in double quotes'
    } else if (next !== '' && next === open.at(-1) && expected.startsWith('a comma')) expected = close()
    else break
  }
  const before = text.slice(0, at).split('\n')
  const place = { line: before.length, column: before.at(-1)!.length + 1 }
  const isText = text[at] === '"' && (expected.startsWith('a value') || expected.startsWith('a name'))
  if (isText) return { ...place, found: 'this text has no closing quote, an invalid escape or a line break' }
  const found = at >= text.length ? 'the text ends' : `found ${JSON.stringify(text[at])}`
  return { ...place, found: `${found} where ${expected} is expected` }
}
