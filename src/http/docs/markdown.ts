/**
 * The Markdown that our own documents are written in, as HTML: headings, paragraphs, lists, tables, fenced code, and within a line code, bold,
 * italics and links. Nothing else is known; what is not known stays text, escaped.
 */
import { code } from './code.ts'
import { Html, html } from './html.ts'

/** `headingLevel` is the level that a heading of the first level gets. */
export function renderMarkdown(text: string, headingLevel: number): Html {
  return html`${blocksOf(text).map((block) => renderBlock(block, headingLevel))}`
}

/** Code, bold, italics and links of one line. */
export function renderInline(text: string): Html {
  const parts = text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*|\[[^\]]+\]\([^)\s]+\))/)
  return html`${parts.map((part, at) => (at % 2 === 0 ? part : renderMarked(part)))}`
}

function renderMarked(part: string): Html {
  if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`
  if (part.startsWith('**')) return html`<strong>${renderInline(part.slice(2, -2))}</strong>`
  if (part.startsWith('*')) return html`<em>${renderInline(part.slice(1, -1))}</em>`
  const [, label, target] = /^\[([^\]]+)\]\((.+)\)$/.exec(part)!
  return html`<a href="${target!}">${renderInline(label!)}</a>`
}

/** Text between empty lines; a fence is one block whatever it holds. */
function blocksOf(text: string): string[] {
  const blocks: string[] = []
  for (const [block] of text.matchAll(/^```[\s\S]*?^```$|(?:^(?!```).*\S.*\n?)+/gm)) blocks.push(block.trimEnd())
  return blocks
}

function renderBlock(block: string, headingLevel: number): Html {
  const heading = /^(#+) (.*)$/.exec(block)
  if (heading) {
    const level = new Html(`h${heading[1]!.length + headingLevel - 1}`)
    return html`<${level}>${renderInline(heading[2]!)}</${level}>`
  }
  const fence = /^```(\S*).*\n([\s\S]*?)\n?```$/.exec(block)
  if (fence) return html`<pre tabindex="0" data-language="${fence[1]!}"><code>${code(fence[1]!, fence[2]!)}</code></pre>`
  const lines = block.split('\n')
  if (lines[0]!.startsWith('|')) return renderTable(lines)
  if (lines[0]!.startsWith('- ')) {
    const items = block.slice(2).split(/\n- /)
    return html`<ul>
      ${items.map((item) => html`<li>${renderInline(item.replace(/\n\s*/g, ' '))}</li>`)}
    </ul>`
  }
  return html`<p>${renderInline(block.replaceAll('\n', ' '))}</p>`
}

/** Cells hold no `|`. A head without text is left out. */
function renderTable(lines: string[]): Html {
  const [head, , ...rows] = lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  const cells = (row: string[]): Html[] => row.map((cell) => html`<td>${renderInline(cell)}</td>`)
  const titles = head!.every((cell) => cell === '')
    ? []
    : [
        html`<thead>
          <tr>
            ${head!.map((cell) => html`<th>${renderInline(cell)}</th>`)}
          </tr>
        </thead>`,
      ]
  return html`<div class="table">
    <table>
      ${titles}
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${cells(row)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}
