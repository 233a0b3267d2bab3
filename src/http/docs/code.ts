/** Highlights the strings, comments and keywords of a code block for the style sheet. */
import { html } from './html.ts'
import type { Html } from './html.ts'

const words: Record<string, string> = {
  sh: 'curl|export|sudo|npx|npm',
  typescript: 'const|let|for|of|if|await|async|function|new|throw|return|continue|import|from',
  python: 'import|from|with|as|for|in|if|elif|else|not|def|return|raise|while|try|except|None|True|False',
}
const comments: Record<string, string> = { sh: '(?<=^|\\s)#.*$', typescript: '//.*$', python: '#.*$', sse: '^(?:event|data)(?=:)' }
const strings = '"(?:[^"\\\\\\n]|\\\\.)*"|\'(?:[^\'\\\\\\n]|\\\\.)*\'|`(?:[^`\\\\]|\\\\.)*`'

export function code(language: string, text: string): Html {
  const comment = comments[language] ?? '(?!)'
  const word = words[language] ? `\\b(?:${words[language]})\\b` : '(?!)'
  const marked = new RegExp(`(?<s>${strings})(?<k>:)?|(?<c>${comment})|(?<w>${word})`, 'gm')
  const pieces: (string | Html)[] = []
  let end = 0
  for (const match of text.matchAll(marked)) {
    const { s, k, c } = match.groups!
    // A JSON field name is a string, but is highlighted differently from a value.
    const kind = c !== undefined ? 'c' : s === undefined ? 'w' : k === undefined ? 's' : 'n'
    pieces.push(text.slice(end, match.index), html`<i class="${kind}">${match[0]}</i>`)
    end = match.index + match[0].length
  }
  return html`${pieces}${text.slice(end)}`
}
