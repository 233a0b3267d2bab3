/** Renders Markdown to HTML. HTML in the text is escaped, so that it is shown and not interpreted. */
import { Marked } from 'marked'
import type { RendererObject, Tokens } from 'marked'
import { code } from './code.ts'
import { Html, html } from './html.ts'

/** `headingLevel` is the HTML level of a first-level heading. */
export function renderMarkdown(text: string, headingLevel: number): Html {
  return new Html(new Marked({ async: false, renderer: { ...renderer, heading } }).parse(text) as string)

  function heading(this: { parser: { parseInline(tokens: Tokens.Generic[]): string } }, { depth, tokens }: Tokens.Heading): string {
    const level = depth + headingLevel - 1
    return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`
  }
}

/** Renders code, bold, italics and links within a line. */
export const renderInline = (text: string): Html => new Html(inline.parseInline(text) as string)

const renderer: RendererObject = {
  html: ({ text }) => html`${text}`.markup,
  code: ({ text, lang = '' }) =>
    html`<pre tabindex="0" data-language="${lang}"><code>${code(lang.split(' ')[0]!, text)}</code></pre>`.markup,
  /** A header without words is omitted. */
  table({ header, rows }) {
    const cells = (tag: string, row: Tokens.TableCell[]): string =>
      `<tr>${row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`
    const head = header.every(({ text }) => text === '') ? '' : `<thead>${cells('th', header)}</thead>`
    return `<div class="table"><table>${head}<tbody>${rows.map((row) => cells('td', row)).join('')}</tbody></table></div>`
  },
}
const inline = new Marked({ async: false, renderer })
