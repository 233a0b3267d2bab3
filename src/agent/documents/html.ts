/**
 * Converts HTML to Markdown as far as a model and a search need it: headings, paragraphs, lists, tables, and the text of links. Extracts
 * the article of a page without its navigation. Panels that a page hides until someone opens them are read. Scripts are not run, and nothing
 * is loaded.
 */
import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import TurndownService from 'turndown'
import type { Element } from './dom.ts'
import { addLists } from './html-lists.ts'
import { addTables } from './html-tables.ts'
import { DocumentRefused } from './limits.ts'
import { boundedHtml } from './nesting.ts'
import { realTitle } from './real-title.ts'
import type { Warnings } from './warnings.ts'

export type Page = { title: string | null; markdown: string }

// Elements around the content of a page. Readability recognizes more; these are removed where it finds no article.
const around =
  'script, style, noscript, template, iframe, svg, nav, footer, aside, dialog, [role="navigation"], [role="banner"], [role="search"]'
const controls = 'input, select, textarea, datalist, output'
// A button that opens a panel is its title, which the extraction of an article would remove.
const titles =
  'h1 button, h2 button, h3 button, h4 button, h5 button, h6 button, summary button, dt button, legend button, button[aria-expanded], button[role="tab"]'
// The state of an item in a list of tasks.
const states = 'input[type="checkbox"][disabled], input[type="radio"][disabled]'
const frames = 'iframe, object, embed, video, audio'
// A form around any of these is the page itself, as in ASP.NET, and not a form to fill in.
const contentOfPage = 'p, h1, h2, h3, h4, h5, h6, table, ul, ol, article, section'

// What a page hides in one of these is a tab, a panel, or a row to unfold. A hidden part of a line is decoration, or is there twice, such as a
// formula for the eyes beside one for screen readers.
const panels =
  'div, section, article, main, aside, header, p, ul, ol, li, dl, dt, dd, table, thead, tbody, tfoot, tr, td, th, details, figure, blockquote, pre, fieldset, h1, h2, h3, h4, h5, h6'
const hiding =
  /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|content-visibility\s*:\s*hidden)\s*(?:!important)?\s*(?=;|$)/gi

// Readability looks for one article. From a page that is a list of questions or a table it may keep a single paragraph. If it keeps less
// than this share of the characters, the whole page is used, without the elements above.
const minShare = 0.4

// Where common frameworks put the page that they build in the browser.
const mounts = '#root, #app, #__next, #__nuxt, #___gatsby, #svelte, #q-app, #react-root, #app-root, app-root, #main-app, #application'
// In characters. A page with more text than this says something without its scripts.
const fewCharacters = 200
const minChartTexts = 3
const waiting =
  /^\W*(?:loading|please wait|one moment|just a moment|laden|bitte warten|chargement|cargando|загрузка|読み込み中|加载中)[^.!?]{0,40}\W*$/i

/**
 * Accepts any text, because no text is invalid HTML. Throws DocumentRefused if the page is empty without its scripts, or nested too deeply.
 */
export function readPage(html: string, warnings: Warnings): Page {
  const page = boundedHtml(wholePage(html))
  const { document } = parseHTML(page)
  reveal(document)
  refuseEmpty(document.body, warnings)
  const ownTitle = realTitle(document.querySelector('title')?.textContent)
  const article = new Readability(document).parse()
  const body = bodyOf(page)
  const wordsOf = (text: string | null | undefined): number => text?.replace(/\s+/g, '').length ?? 0
  const title = realTitle(article?.title) ?? ownTitle
  // An article has no frames left.
  for (const frame of body.querySelectorAll(frames)) if (isShown(frame)) warnings.add('embedded_files')
  if (article?.content && wordsOf(article.textContent) >= wordsOf(body.textContent) * minShare)
    return { title, markdown: toMarkdown(bodyOf(article.content), warnings) }
  return { title: ownTitle ?? title, markdown: toMarkdown(body, warnings) }
}

/** Converts HTML that has nothing around its content, such as the output of a converter. */
export function fragmentToMarkdown(html: string, warnings: Warnings): string {
  return toMarkdown(bodyOf(boundedHtml(html)), warnings)
}

/** Parses the text again, because Readability takes apart the tree it is given. */
function bodyOf(html: string): Element {
  const body = parseHTML(wholePage(html)).document.body as Element
  reveal(body)
  for (const element of body.querySelectorAll(around)) if (!/^(?:iframe|svg)$/i.test(element.nodeName)) element.remove()
  for (const form of body.querySelectorAll('form')) if (form.querySelector(contentOfPage) === null) form.remove()
  for (const control of body.querySelectorAll(controls)) control.remove()
  return body
}

/** Shows what the page hides in panels, and the content of shadow roots. Removes what it hides within a line. */
function reveal(page: Pick<Element, 'querySelectorAll'>): void {
  for (const template of page.querySelectorAll('template[shadowrootmode]')) {
    const { document } = parseHTML(`<html><body><div>${template.innerHTML}</div></body></html>`)
    template.replaceWith(document.body.firstElementChild)
  }
  for (const button of page.querySelectorAll(titles)) {
    const { document } = parseHTML(`<html><body><span>${button.innerHTML}</span></body></html>`)
    button.replaceWith(document.body.firstElementChild)
  }
  for (const state of page.querySelectorAll(states)) state.replaceWith(state.getAttribute('checked') === null ? '[ ] ' : '[x] ')
  for (const element of page.querySelectorAll('[hidden], [aria-hidden="true"], [style]')) {
    const style = element.getAttribute('style') ?? ''
    const shown = style.replace(hiding, '')
    if (shown === style && element.getAttribute('hidden') === null && element.getAttribute('aria-hidden') !== 'true') continue
    if (!isPanel(element)) {
      element.remove()
      continue
    }
    element.removeAttribute('hidden')
    element.removeAttribute('aria-hidden')
    element.setAttribute('style', shown)
  }
}

const panelNames = new Set(panels.toUpperCase().split(', '))
// A custom element may be a panel. One without a space in its text is an icon.
const isPanel = ({ nodeName, textContent }: Element): boolean =>
  panelNames.has(nodeName) || (nodeName.includes('-') && /\S\s+\S/.test(textContent ?? ''))

function refuseEmpty(body: Element, warnings: Warnings): void {
  const without = body.querySelectorAll('script, style, noscript, template')
  const left = new Map([...without].map((element) => [element, element.textContent?.trim() ?? '']))
  const hasScript = [...left.keys()].some(({ nodeName }) => nodeName === 'SCRIPT' || nodeName === 'NOSCRIPT')
  const length = [...left.values()].reduce((sum, text) => sum + text.length, 0)
  const all = body.textContent?.trim() ?? ''
  // Most pages have more text than this.
  if (all.length - length >= fewCharacters * 4) return
  const shownText = visibleText(body)
  const mount = [...body.querySelectorAll(mounts)].find((element) => isWaiting(visibleText(element)))
  if (isWaiting(shownText) && (hasScript || mount))
    throw new DocumentRefused(
      'This page is empty without JavaScript: its text is loaded by a script, and scripts are not run. Open it in a browser and save it as HTML or PDF, or send the text.',
    )
  if (mount && shownText.length < fewCharacters) warnings.note('scripts')
}

/** Counters of visits have a frame of one pixel. */
const isShown = (frame: Element): boolean =>
  !['width', 'height'].some((name) => /^\s*[01](?:px)?\s*$/.test(frame.getAttribute(name) ?? '')) &&
  frame.getAttribute('src') !== 'about:blank'

const isWaiting = (text: string): boolean => text === '' || waiting.test(text)

function visibleText(element: Element): string {
  if (/^(?:SCRIPT|STYLE|NOSCRIPT|TEMPLATE)$/.test(element.nodeName)) return ''
  const { document } = parseHTML(`<html><body>${element.innerHTML}</body></html>`)
  for (const unread of document.querySelectorAll('script, style, noscript, template')) unread.remove()
  return (document.body.textContent ?? '').replace(/\s+/g, ' ').trim()
}

/** Adds missing html, head and body tags: unlike a browser, the parser does not, and would return an empty page. */
function wholePage(html: string): string {
  if (/<html[\s>]/i.test(html) && /<body[\s>]/i.test(html)) return html
  // Searched in two steps, and no tag goes on after the next `<`: otherwise a page of unclosed tags would be read once for each of them.
  const start = html.search(/<title[\s>]/i)
  const length = start === -1 ? -1 : html.slice(start).search(/<\/title>/i)
  const title = length === -1 ? '' : html.slice(start, start + length + '</title>'.length)
  const rest = html.replace(title, () => '').replace(/<!doctype[^<>]*>|<\/?(?:html|head|body)(?:\s[^<>]*)?>/gi, '')
  return `<!doctype html><html><head>${title}</head><body>${rest}</body></html>`
}

function oneLine(text: string | null | undefined): string | null {
  return text?.replace(/\s+/g, ' ').trim() || null
}

function toMarkdown(body: Element, warnings: Warnings): string {
  const service = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-', hr: '---' })
  // The Markdown is not rendered. A model reads it, and a search for `KX_12` would not find `KX\_12`.
  service.escape = (text) => text.replace(/^(#{1,6}\s|```|~~~)/, '\\$1')
  service.addRule('link', { filter: 'a', replacement: (content, node: Element) => link(content, node.getAttribute('href')) })
  // Only the alternative text of an image is kept.
  service.addRule('image', {
    filter: 'img',
    replacement: (_, node: Element) => {
      const alternative = oneLine(node.getAttribute('alt'))
      // An empty alternative text says that the picture is decoration.
      if (alternative === null && (node.getAttribute('alt') === null || node.getAttribute('src') === '')) warnings.add('pictures')
      return alternative ?? ''
    },
  })
  service.addRule('emphasis', { filter: ['em', 'i', 'strong', 'b'], replacement: (content) => content })
  for (const frame of body.querySelectorAll(frames)) frame.remove()
  for (const drawing of body.querySelectorAll('svg')) {
    // One with words is a chart, and others are icons.
    if ([...drawing.querySelectorAll('text')].length >= minChartTexts) warnings.add('charts')
    drawing.remove()
  }
  for (const formula of body.querySelectorAll('math')) {
    warnings.add('equations')
    formula.replaceWith(` ${formulaText(formula)} `)
  }
  addTables(service)
  addLists(service)
  // The library's types expect browser types.
  return service.turndown(body as unknown as string)
}

/** A formula usually has its TeX beside it. */
function formulaText(formula: Element): string {
  const tex = formula.querySelector('annotation[encoding="application/x-tex"]')?.textContent ?? formula.getAttribute('alttext')
  for (const annotation of formula.querySelectorAll('annotation, annotation-xml')) annotation.remove()
  return oneLine(tex ?? formula.textContent) ?? ''
}

/** Keeps the address of a link only if it is usable outside the page. */
function link(content: string, href: string | null): string {
  // The way back from a note to its place in the text.
  if (href?.startsWith('#') && /^[↑↩⏎^]\ufe0e?$/.test(content.trim())) return ''
  return href && /^(?:https?|mailto|tel):/i.test(href) && content.trim() !== '' && !content.includes(href)
    ? `[${content.trim()}](${href})`
    : content
}
