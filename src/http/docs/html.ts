/** Builds HTML safely: templates escape text, and finished markup has its own type. */

/** Finished markup, which templates insert without escaping. */
export class Html {
  readonly markup: string

  constructor(markup: string) {
    this.markup = markup
  }
}

type Piece = string | number | Html | readonly Piece[]

/** A template tag. Its strings are markup; its values are escaped unless they are Html. Lists are joined. */
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
