/**
 * Converts HTML to Markdown as far as a model and a search need it: headings, paragraphs, lists, tables, and the text of links. Extracts
 * the article of a page without its navigation. Scripts are not run, and nothing is loaded.
 */
import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import TurndownService from 'turndown'
import { realTitle } from './real-title.ts'

export type Page = { title: string | null; markdown: string }

/** The part of the DOM that is used here. */
type Element = {
  nodeName: string
  textContent: string | null
  getAttribute(name: string): string | null
  closest(selectors: string): Element | null
  querySelector(selectors: string): Element | null
  querySelectorAll(selectors: string): Iterable<Element>
  remove(): void
}

// Elements around the content of a page. Readability recognizes more; these are removed where it finds no article.
const around =
  'script, style, noscript, template, iframe, svg, nav, footer, aside, form, dialog, [hidden], [aria-hidden="true"], [role="navigation"], [role="banner"], [role="search"]'

// Readability looks for one article. From a page that is a list of questions or a table it may keep a single paragraph. If it keeps less
// than this share of the characters, the whole page is used, without the elements above.
const minShare = 0.4

/** Accepts any text, because no text is invalid HTML. */
export function readPage(html: string): Page {
  const { document } = parseHTML(wholePage(html))
  const ownTitle = realTitle(document.querySelector('title')?.textContent)
  const article = new Readability(document).parse()
  const body = bodyOf(html)
  const wordsOf = (text: string | null | undefined): number => text?.replace(/\s+/g, '').length ?? 0
  const title = realTitle(article?.title) ?? ownTitle
  if (article?.content && wordsOf(article.textContent) >= wordsOf(body.textContent) * minShare)
    return { title, markdown: toMarkdown(bodyOf(article.content)) }
  return { title: ownTitle ?? title, markdown: toMarkdown(body) }
}

/** Converts HTML that has nothing around its content, such as the output of a converter. */
export function fragmentToMarkdown(html: string): string {
  return toMarkdown(bodyOf(html))
}

/** Parses the text again, because Readability takes apart the tree it is given. */
function bodyOf(html: string): Element {
  const body = parseHTML(wholePage(html)).document.body as Element
  for (const element of body.querySelectorAll(around)) element.remove()
  return body
}

/** Adds missing html, head and body tags: unlike a browser, the parser does not, and would return an empty page. */
function wholePage(html: string): string {
  if (/<html[\s>]/i.test(html) && /<body[\s>]/i.test(html)) return html
  const title = /<title[\s>][\s\S]*?<\/title>/i.exec(html)?.[0] ?? ''
  const rest = html.replace(title, '').replace(/<!doctype[^>]*>|<\/?(?:html|head|body)(?:\s[^>]*)?>/gi, '')
  return `<!doctype html><html><head>${title}</head><body>${rest}</body></html>`
}

function oneLine(text: string | null | undefined): string | null {
  return text?.replace(/\s+/g, ' ').trim() || null
}

function toMarkdown(body: Element): string {
  const service = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-', hr: '---' })
  // The Markdown is not rendered. A model reads it, and a search for `KX_12` would not find `KX\_12`.
  service.escape = (text) => text.replace(/^(#{1,6}\s|```|~~~)/, '\\$1')
  service.addRule('link', { filter: 'a', replacement: (content, node: Element) => link(content, node.getAttribute('href')) })
  // Only the alternative text of an image is kept.
  service.addRule('image', { filter: 'img', replacement: (_, node: Element) => oneLine(node.getAttribute('alt')) ?? '' })
  service.addRule('emphasis', { filter: ['em', 'i', 'strong', 'b'], replacement: (content) => content })
  addTables(service)
  // The library's types expect browser types.
  return service.turndown(body as unknown as string)
}

/** Keeps the address of a link only if it is usable outside the page. */
function link(content: string, href: string | null): string {
  return href && /^(?:https?|mailto|tel):/i.test(href) && content.trim() !== '' && !content.includes(href)
    ? `[${content.trim()}](${href})`
    : content
}

/** Writes data tables as rows of cells. Tables used for layout, as on old pages, are replaced by their content. */
function addTables(service: TurndownService): void {
  const layouts = new Map<Element, boolean>()
  const isLayout = (cell: Element): boolean => {
    const table = cell.closest('table')
    if (!table) return true
    const known = layouts.get(table) ?? table.querySelector('table, h1, h2, h3, h4, h5, h6, pre') !== null
    layouts.set(table, known)
    return known
  }
  service.addRule('cell', {
    filter: ['td', 'th'],
    replacement: (content, node: Element) =>
      isLayout(node)
        ? `\n\n${content}\n\n`
        : ` ${content
            .trim()
            .replace(/\s*\n\s*/g, ' ')
            .replaceAll('|', '\\|')} |`,
  })
  service.addRule('row', {
    filter: 'tr',
    replacement: (content, node: Element) => (isLayout(node) ? `\n\n${content}\n\n` : content.trim() === '' ? '' : `\n|${content}`),
  })
  service.addRule('rows', { filter: ['thead', 'tbody', 'tfoot'], replacement: (content) => content })
  service.addRule('table', { filter: 'table', replacement: (content) => `\n\n${content.trim()}\n\n` })
}
