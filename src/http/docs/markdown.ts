/**
 * Renders the subset of Markdown that docs/errors uses: headings, paragraphs, lists, tables and fenced code, with inline code, bold, italics and
 * links. Anything else is shown as escaped text.
 */
import { code } from './code.ts'
import { Html, html } from './html.ts'

/** `headingLevel` is the HTML level of a first-level heading. */
export function renderMarkdown(text: string, headingLevel: number): Html {
  return html`${blocksOf(text).map((block) => renderBlock(block, headingLevel))}`
}

/** Renders code, bold, italics and links within a line. */
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

/** Splits text at empty lines. A fenced code block is one block even if it contains empty lines. */
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

/** Cells must not contain `|`. An empty header row is omitted. */
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
