/** Writes an equation of Word as a line of text: `(a + b)/(2)`, `x^(2)`, `sqrt(y)`. */
import { attribute, unescapeXml } from './xml-tokens.ts'
import type { Token } from './xml-tokens.ts'

type Node = { name: string; value: string | undefined; text: string; children: Node[] }

export function equationText(tokens: Token[]): string {
  return written(treeOf(tokens)).replace(/\s+/g, ' ').trim()
}

function treeOf(tokens: Token[]): Node[] {
  const root: Node = { name: '', value: undefined, text: '', children: [] }
  const path = [root]
  for (const token of tokens) {
    const parent = path.at(-1)!
    if (token.kind === 'close') {
      if (path.length > 1) path.pop()
      continue
    }
    const text = token.kind === 'other' ? unescapeXml(token.raw) : ''
    const node: Node = { name: token.name, value: attribute(token, 'm:val'), text, children: [] }
    parent.children.push(node)
    if (token.kind === 'open') path.push(node)
  }
  return root.children
}

const written = (nodes: Node[]): string => nodes.map(writtenNode).join('')

function writtenNode(node: Node): string {
  const textOf = (name: string): string => written(node.children.find((child) => child.name === name)?.children ?? [])
  const textsOf = (name: string): string[] => node.children.filter((child) => child.name === name).map(({ children }) => written(children))
  const property = (name: string): string | undefined => {
    const properties = node.children.find((child) => child.name === `${node.name}Pr`)
    const value = properties?.children.find((child) => child.name === name)
    return value && (value.value === undefined ? '' : unescapeXml(value.value))
  }
  switch (node.name) {
    case 'm:f':
      return `(${textOf('m:num')})/(${textOf('m:den')})`
    case 'm:sSup':
      return `${textOf('m:e')}^(${textOf('m:sup')})`
    case 'm:sSub':
      return `${textOf('m:e')}_(${textOf('m:sub')})`
    case 'm:sSubSup':
      return `${textOf('m:e')}_(${textOf('m:sub')})^(${textOf('m:sup')})`
    case 'm:sPre':
      return `_(${textOf('m:sub')})^(${textOf('m:sup')})${textOf('m:e')}`
    case 'm:rad':
      return textOf('m:deg') === '' ? `sqrt(${textOf('m:e')})` : `root(${textOf('m:deg')}, ${textOf('m:e')})`
    case 'm:nary':
      return ` ${property('m:chr') ?? '∫'}${limit('_', textOf('m:sub'))}${limit('^', textOf('m:sup'))} ${textOf('m:e')}`
    case 'm:limLow':
      return `${textOf('m:e')}_(${textOf('m:lim')})`
    case 'm:limUpp':
      return `${textOf('m:e')}^(${textOf('m:lim')})`
    case 'm:func':
      return ` ${textOf('m:fName')}(${textOf('m:e')})`
    case 'm:d':
      return `${property('m:begChr') ?? '('}${textsOf('m:e').join(property('m:sepChr') ?? '|')}${property('m:endChr') ?? ')'}`
    case 'm:m':
      return `[${node.children
        .filter(({ name }) => name === 'm:mr')
        .map(writtenNode)
        .join('; ')}]`
    case 'm:mr':
      return textsOf('m:e').join(', ')
    case 'm:eqArr':
      return textsOf('m:e').join('; ')
    case 'm:acc':
      return `${textOf('m:e')}${property('m:chr') ?? '̂'}`
    case '':
      return node.text
    default:
      // Properties have no text. Everything else shows what it contains.
      return node.name.endsWith('Pr') ? '' : written(node.children)
  }
}

const limit = (sign: string, text: string): string => (text === '' ? '' : `${sign}(${text})`)
