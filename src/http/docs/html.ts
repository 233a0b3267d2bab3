/** HTML as values: text is escaped when it is put into a template, and what is markup already has a type of its own. Knows no page. */

/** Markup that may stand in a page as it is. */
export class Html {
  readonly markup: string

  constructor(markup: string) {
    this.markup = markup
  }
}

type Piece = string | number | Html | readonly Piece[]

/** A template whose strings are markup and whose values are text, unless they are Html; a list is joined. */
export function html(strings: TemplateStringsArray, ...pieces: Piece[]): Html {
  return new Html(strings.map((text, at) => (at === 0 ? text : write(pieces[at - 1]!) + text)).join(''))
}

export const nothing = new Html('')

function write(piece: Piece): string {
  if (piece instanceof Html) return piece.markup
  if (typeof piece === 'object') return piece.map(write).join('')
  return escape(String(piece))
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!)
