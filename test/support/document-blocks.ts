/**
 * The fenced blocks of a document, in order. `sh`, `ts` and `python` are programs that a reader pastes; the first line says how: nothing (they
 * run, and end well), `no-run REASON`, `fails REASON` (they run, and end with an error), `stopped` (beside a server that is stopped). What stands
 * below a program, plain or `text`, before the next heading is what it prints; `text exact` says so with the amounts, `text again` what the same
 * program prints when it is run once more, byte for byte, `text no-run REASON` what cannot be compared, and `text paste` is what a server prints
 * for a reader to paste, from its `curl` on.
 */

const ways = ['run', 'no-run', 'fails', 'stopped'] as const
export type How = (typeof ways)[number]
export type Shown = { text: string; as: 'like' | 'exact' | 'again' }
export type Block = { language: string; text: string; how: How; reason: string; shown: Shown[] }
/** What is no program: JSON, YAML, nginx, HTTP … */
export type Passage = { language: string; text: string }

const programs = ['sh', 'ts', 'python']

export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = []
  let last: Block | undefined
  for (const { heading, language, info, text } of piecesOf(markdown)) {
    if (heading) last = undefined
    else if (programs.includes(language)) blocks.push((last = { language, text, ...howOf(language, info), shown: [] }))
    else if (language === 'text' && info === 'paste')
      blocks.push((last = { language: 'sh', text: /^curl [\s\S]*/m.exec(text)![0], how: 'run', reason: '', shown: [] }))
    else if (language === 'text' || language === '') showIn(last, info, text)
    else last = undefined
  }
  return blocks
}

export const passagesOf = (markdown: string): Passage[] =>
  piecesOf(markdown).filter(({ heading, language }) => !heading && language !== '' && ![...programs, 'text'].includes(language))

type Piece = { heading: boolean; language: string; info: string; text: string }

const piecesOf = (markdown: string): Piece[] =>
  [...markdown.matchAll(/^```(\w*)(?: (.*))?\n([\s\S]*?)\n```$|^#+ .*$/gm)].map(([whole, language = '', info = '', text = '']) => ({
    heading: whole.startsWith('#'),
    language,
    info,
    text,
  }))

function howOf(language: string, info: string): { how: How; reason: string } {
  const [word = '', ...rest] = info.split(' ')
  const how = ways.find((way) => way === (word === '' ? 'run' : word))
  const reason = rest.join(' ')
  if (how === undefined || (how === 'no-run' || how === 'fails') !== (reason !== '')) throw new Error(`a block says "${language} ${info}"`)
  return { how, reason }
}

/** The first one is what was printed; more than that need a word. */
function showIn(block: Block | undefined, info: string, text: string): void {
  if (/^no-run \S/.test(info)) return
  if (info !== '' && info !== 'exact' && info !== 'again') throw new Error(`a block says "text ${info}"`)
  if (!block || block.how === 'no-run') return
  if (info === '' && block.shown.length > 0) return
  block.shown.push({ text, as: info === '' ? 'like' : info })
}
