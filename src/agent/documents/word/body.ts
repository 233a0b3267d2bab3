/**
 * Rewrites the XML of a Word document so that the converter, which reads paragraphs, tables and notes, also finds what it would leave out:
 * the numbers of lists, equations, text boxes, fields, and the alternative text of pictures. Counts what has no text.
 */
import type { Warnings } from '../warnings.ts'
import { equationText } from './equation.ts'
import { listMark } from './list-marks.ts'
import { readNumbered } from './numbering.ts'
import type { Numbering } from './numbering.ts'
import { attribute, contentsOf, escapeXml, inner, integerAttribute, tagOf, unescapeXml, without } from './xml-tokens.ts'
import type { Token } from './xml-tokens.ts'

export type BodyOptions = {
  numbering: Numbering
  warnings: Warnings
  /** Without links: those of headers and footers have relationships of their own. */
  isBeside?: boolean
}

type State = BodyOptions & { out: string[]; paragraphs: number; boxes: Token[][] }

export function rewriteBody(tokens: Iterable<Token>, options: BodyOptions): string {
  const state: State = { ...options, out: [], paragraphs: 0, boxes: [] }
  const iterator = tokens[Symbol.iterator]()
  for (let next = iterator.next(); !next.done; next = iterator.next()) rewrite(next.value, iterator, state)
  return state.out.join('')
}

/** The elements of which only the content is kept, because the converter would skip them whole. */
const unwrapped = new Set(['w:fldSimple', 'w:bdo', 'w:dir', 'w:ruby', 'w:rubyBase'])
const left = new Set(['w:rt', 'w:pPrChange', 'w:rPrChange'])

function rewrite(token: Token, rest: Iterator<Token>, state: State): void {
  const { out, warnings } = state
  const { name, kind, raw } = token
  if (kind === 'close') {
    if (unwrapped.has(name) || (state.isBeside && name === 'w:hyperlink')) return
    out.push(raw)
    if (name === 'w:p') endParagraph(state)
    return
  }
  // A prefix that is not Word's has no content that is handled here.
  if (kind === 'other' || !/^(?:w|m|mc):/.test(name)) return void out.push(raw)
  if (unwrapped.has(name) || (state.isBeside && name === 'w:hyperlink')) return
  const content = (): Token[] => (kind === 'open' ? inner(name, rest) : [])
  if (left.has(name) || (state.isBeside && name === 'w:sdtPr')) return void content()
  switch (name) {
    case 'w:p':
      if (kind === 'open') state.paragraphs++
      return void out.push(raw)
    case 'w:pPr':
      return writeParagraphProperties(content(), state)
    case 'm:oMath':
    case 'm:oMathPara':
      return writeEquations(content(), state)
    case 'mc:AlternateContent':
      return writeAlternative(content(), state)
    case 'w:drawing':
    case 'w:pict':
    case 'w:object':
      return writeDrawing(content(), state, name)
    case 'w:altChunk':
      content()
      return warnings.add('embedded_files')
    case 'w:commentReference':
      content()
      return warnings.add('comments')
    case 'w:cr':
      content()
      return void out.push('<w:br/>')
    case 'w:ptab':
      content()
      return void out.push('<w:tab/>')
    case 'w:fldChar':
      return writeField(token, content(), state)
    default:
      return void out.push(raw)
  }
}

/** Text boxes follow the paragraph that they are anchored in. */
function endParagraph(state: State): void {
  state.paragraphs = Math.max(0, state.paragraphs - 1)
  if (state.paragraphs > 0) return
  for (const box of state.boxes.splice(0)) state.out.push(rewriteBody(box, state))
}

function writeParagraphProperties(content: Token[], state: State): void {
  const properties = without('w:pPrChange', content)
  const kept = without('w:numPr', properties).map(({ raw }) => raw)
  state.out.push('<w:pPr>', ...kept, '</w:pPr>')
  // A deleted paragraph is part of the next one.
  if (contentsOf('w:rPr', properties).some((ofMark) => tagOf('w:del', ofMark))) return
  const item = state.numbering.next(attribute(tagOf('w:pStyle', properties), 'w:val'), readNumbered(properties))
  if (item) writeText(listMark(item), state)
}

const writeText = (text: string, { out }: State): void => void out.push(`<w:r><w:t xml:space="preserve">${escapeXml(text)}</w:t></w:r>`)

function writeEquations(content: Token[], state: State): void {
  const single = contentsOf('m:oMath', content)
  for (const equation of single.length > 0 ? single : [content]) {
    state.warnings.add('equations')
    writeText(` ${equationText(equation)} `, state)
  }
}

/** The same content for newer and older programs. The newer one has what can be read; the older one is what the converter would read. */
function writeAlternative(content: Token[], state: State): void {
  const [choice = []] = contentsOf('mc:Choice', content)
  const [fallback = []] = contentsOf('mc:Fallback', content)
  const isDrawn = tagOf('w:drawing', choice) !== undefined || fallback.every(({ raw }) => raw.trim() === '')
  const iterator = (isDrawn ? choice : fallback)[Symbol.iterator]()
  for (let next = iterator.next(); !next.done; next = iterator.next()) rewrite(next.value, iterator, state)
}

/** `w:object`: an embedded file, shown as a picture of it. */
function writeDrawing(content: Token[], state: State, name: string): void {
  const { warnings } = state
  const boxes = contentsOf('w:txbxContent', content)
  state.boxes.push(...boxes)
  const outside = without('w:txbxContent', content)
  const count = (names: string[]): number => outside.filter((token) => token.kind !== 'close' && names.includes(token.name)).length
  const charts = count(['c:chart', 'cx:chart'])
  const diagrams = count(['dgm:relIds'])
  const described = alternativeText(outside)
  if (name === 'w:object') {
    const isEquation = /^Equation/i.test(attribute(tagOf('o:OLEObject', outside), 'ProgID') ?? '')
    warnings.add(isEquation ? 'old_equations' : 'embedded_files')
  } else if (charts + diagrams > 0) {
    warnings.add('charts', charts)
    warnings.add('diagrams', diagrams)
  } else if (described === '') warnings.add('pictures', count(['pic:pic', 'v:imagedata']))
  if (described !== '') state.out.push(`<w:t xml:space="preserve"> ${escapeXml(described)} </w:t>`)
}

// What programs write as the alternative text of a picture: its file, or that it has no description.
const noDescription =
  /^\s*$|^[^\s]+\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg)$|^(?:picture|image|graphic|grafik|bild|shape|text ?box)\s*\d*$/i

function alternativeText(tokens: Token[]): string {
  const texts = tokens
    .filter(({ name, kind }) => kind !== 'close' && (name === 'wp:docPr' || name === 'v:shape'))
    .map((token) => unescapeXml(attribute(token, 'descr') ?? attribute(token, 'alt') ?? ''))
  return texts.filter((text) => !noDescription.test(text)).join(' ')
}

/** The choice in a drop-down field is only in the properties of the field. */
function writeField(token: Token, content: Token[], { out }: State): void {
  out.push(token.raw, ...content.map(({ raw }) => raw))
  if (token.kind === 'open') out.push('</w:fldChar>')
  const [choices] = contentsOf('w:ddList', content)
  if (!choices) return
  const chosen = integerAttribute(tagOf('w:result', choices), 'w:val') ?? integerAttribute(tagOf('w:default', choices), 'w:val') ?? 0
  const entry = choices.filter(({ name, kind }) => name === 'w:listEntry' && kind !== 'close')[chosen]
  const text = attribute(entry, 'w:val')
  if (text !== undefined) out.push(`<w:t xml:space="preserve">${text.replaceAll('<', '&lt;')}</w:t>`)
}
