/**
 * HTML to Markdown, as far as a model and a search need it: headings, paragraphs, lists, tables, the text of links. The article of a page without
 * the navigation around it; scripts are never run and nothing is loaded.
 */
import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import TurndownService from 'turndown'

export type Page = { title: string | null; markdown: string }

/** Of the DOM, what is used here. */
type Element = {
  nodeName: string
  textContent: string | null
  getAttribute(name: string): string | null
  closest(selectors: string): Element | null
  querySelector(selectors: string): Element | null
  querySelectorAll(selectors: string): Iterable<Element>
  remove(): void
}

// What stands around the words of a page. `readability` knows more signs; these go where it finds no article.
const around =
  'script, style, noscript, template, iframe, svg, nav, footer, aside, form, dialog, [hidden], [aria-hidden="true"], [role="navigation"], [role="banner"], [role="search"]'

// Readability looks for one article. Of a page that is a list of questions, or a table, it may keep a paragraph: less than this share of the words
// is no article, and then everything is kept that is not marked as something around it.
const minShare = 0.4

/** Any text is accepted: HTML has no wrong syntax. */
export function readPage(html: string): Page {
  const { document } = parseHTML(wholePage(html))
  const ownTitle = oneLine(document.querySelector('title')?.textContent)
  const article = new Readability(document).parse()
  const body = bodyOf(html)
  const wordsOf = (text: string | null | undefined): number => text?.replace(/\s+/g, '').length ?? 0
  const title = oneLine(article?.title) ?? ownTitle
  if (article?.content && wordsOf(article.textContent) >= wordsOf(body.textContent) * minShare)
    return { title, markdown: toMarkdown(bodyOf(article.content)) }
  return { title: ownTitle ?? title, markdown: toMarkdown(body) }
}

/** HTML without anything around it, as a converter writes it. */
export function fragmentToMarkdown(html: string): string {
  return toMarkdown(bodyOf(html))
}

/** A tree of its own each time: readability takes the one it is given apart. */
function bodyOf(html: string): Element {
  const body = parseHTML(wholePage(html)).document.body as Element
  for (const element of body.querySelectorAll(around)) element.remove()
  return body
}

/** The parser makes no tags that an author left out, as browsers do: without them it sees a page with nothing on it. */
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
  // Nobody renders it: a model reads it and a search looks for its words, and `KX\_12` is not the word that is looked for.
  service.escape = (text) => text.replace(/^(#{1,6}\s|```|~~~)/, '\\$1')
  service.addRule('link', { filter: 'a', replacement: (content, node: Element) => link(content, node.getAttribute('href')) })
  // A picture is worth what is said of it.
  service.addRule('image', { filter: 'img', replacement: (_, node: Element) => oneLine(node.getAttribute('alt')) ?? '' })
  service.addRule('emphasis', { filter: ['em', 'i', 'strong', 'b'], replacement: (content) => content })
  addTables(service)
  // Its own types are those of a browser.
  return service.turndown(body as unknown as string)
}

/** Only an address that means something away from its page is worth its characters. */
function link(content: string, href: string | null): string {
  return href && /^(?:https?|mailto|tel):/i.test(href) && content.trim() !== '' && !content.includes(href)
    ? `[${content.trim()}](${href})`
    : content
}

/** Rows of cells for a table of data; the tables of old pages that stand for a layout become what is in them. */
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
