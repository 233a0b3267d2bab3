/**
 * Formats a plan as text: a sign and the item, with its fields below. Unchanged items are only counted. A plan does not contain the values
 * of keys, headers and secrets, so they are never printed.
 */
import { relative } from 'node:path'
import { escapeForTerminal } from '../terminal/table.ts'
import { describe } from './item.ts'
import type { Difference, Item, Kind, Plan } from './item.ts'
import { diffLines } from './line-diff.ts'

const signs = { create: '+', update: '~', delete: '-', none: ' ' } as const
/** Returns the text in a color, or unchanged if stdout has none. */
export type Paint = (color: 'green' | 'yellow' | 'red', text: string) => string

const colors = { '+': 'green', '~': 'yellow', '-': 'red' } as const
// A longer value is shown as a text of several lines.
const maxInlineLength = 72
// Of a new text, only the first lines are shown.
const firstLines = 3

/** Returns no lines if there are no changes. */
export function planLines(items: Item[], paint: Paint): string[] {
  const shown = new Set<Item>()
  for (const item of items) if (item.action !== 'none') for (let one: Item | undefined = item; one; one = one.parent) shown.add(one)
  return items.filter((item) => shown.has(item)).flatMap((item) => itemLines(item, paint))
}

function itemLines(item: Item, paint: Paint): string[] {
  const sign = signs[item.action]
  const indent = '  '.repeat(depthOf(item))
  const head = `${sign} ${indent}${item.kind} ${escapeForTerminal(item.name)}${remark(item)}`
  if (item.action === 'none' || item.action === 'delete') return [painted(paint, sign, head)]
  const fields = Object.entries(item.fields).filter(([name]) => item.action === 'update' || !saidInHead(item, name))
  const lines = fields.flatMap(([name, difference]) => fieldLines(name, difference, item.action === 'create', paint))
  return [painted(paint, sign, head), ...lines.map((line) => `${' '.repeat(6)}${indent}${line}`)]
}

const depthOf = ({ parent }: Item): number => (parent ? depthOf(parent) + 1 : 0)

function remark(item: Item): string {
  if (item.action === 'delete') return ` (${item.id}${item.kind === 'key' ? ', will be revoked' : ''})`
  if (item.kind === 'agent' && item.action === 'update') return ` (${versionsOf(item)})`
  if (item.kind === 'document' && item.action === 'create') return ` (${sizeOf(item)})`
  if ((item.kind === 'key' || item.kind === 'webhook') && item.action === 'create')
    return item.secretFile === undefined ? ' (its secret is printed on stdout)' : ` (its secret is written to ${nearPath(item.secretFile)})`
  return ''
}

/** Returns a path relative to the working directory if it is inside it. */
function nearPath(path: string): string {
  const near = relative('', path)
  return escapeForTerminal(near.startsWith('..') ? path : near)
}

function versionsOf({ version, body }: Extract<Item, { kind: 'agent' }>): string {
  // Enabling, disabling and spend limits do not create a version.
  return Object.keys(body).some((name) => name !== 'enabled' && name !== 'spend_limits')
    ? `version ${version} → ${version! + 1}`
    : `version ${version}`
}

function sizeOf({ wanted }: Extract<Item, { kind: 'document' }>): string {
  const content = wanted!.content
  return content.source === 'url' ? escapeForTerminal(content.url) : `${content.source}, ${content.bytes.toLocaleString('en-US')} bytes`
}

const saidInHead = (item: Item, name: string): boolean => name === 'name' || item.kind === 'document'

function fieldLines(name: string, { from, to }: Difference, isNew: boolean, paint: Paint): string[] {
  if (isLong(from) || isLong(to)) return [`${name}:`, ...(isNew ? beginning(String(to)) : textLines(asText(from), asText(to), paint))]
  return [`${name}: ${isNew ? written(name, to) : `${written(name, from)} → ${written(name, to)}`}`]
}

const isLong = (value: unknown): boolean => typeof value === 'string' && (value.length > maxInlineLength || value.includes('\n'))
const asText = (value: unknown): string => (value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value))

function written(name: string, value: unknown): string {
  if (value === null) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') return value.toLocaleString('en-US', { maximumFractionDigits: 20 })
  if (typeof value !== 'string') return escapeForTerminal(JSON.stringify(value))
  if (/usd/.test(name)) return value.replace(/(\.\d\d\d*?)0+$/, '$1')
  return value === '' ? '""' : escapeForTerminal(value)
}

function beginning(text: string): string[] {
  const lines = text.split('\n')
  const more = lines.length - firstLines
  return [
    ...lines.slice(0, firstLines).map((line) => `  ${escapeForTerminal(line)}`),
    ...(more > 0 ? [`  … ${plural(more, 'more line')}`] : []),
  ]
}

function textLines(from: string, to: string, paint: Paint): string[] {
  return diffLines(from, to).map((line) =>
    'count' in line
      ? `  … ${plural(line.count, 'unchanged line')}`
      : painted(paint, line.sign, `  ${line.sign} ${escapeForTerminal(line.text)}`),
  )
}

const painted = (paint: Paint, sign: '+' | '~' | '-' | ' ', text: string): string => (sign === ' ' ? text : paint(colors[sign], text))

/** Returns the totals of the plan, and what it leaves out. */
export function summaryLines({ items, left, uncompared, reads }: Plan): string[] {
  const count = (action: Item['action']): number => items.filter((item) => item.action === action).length
  const [made, changed, taken, same] = [count('create'), count('update'), count('delete'), count('none')]
  const parts = [made && `${made} to create`, changed && `${changed} to update`, taken && `${taken} to delete`, same && `${same} unchanged`]
  const first = made + changed + taken === 0 ? `No changes. ${same} unchanged.` : `Plan: ${parts.filter(Boolean).join(', ')}.`
  const others = Object.entries(left).filter(([, number]) => number > 0)
  const prunable = others.some(([kind]) => kind === 'key' || kind === 'document')
  return [
    first,
    ...(others.length > 0
      ? [
          `Not in the file and left unchanged: ${others.map(([kind, number]) => plural(number, kind)).join(', ')}${prunable ? ' (--prune deletes keys and documents)' : ''}.`,
        ]
      : []),
    ...(uncompared > 0
      ? [
          `Not compared, because the server never returns them: ${plural(uncompared, 'value')} of keys, headers and secrets (--secrets sends them again).`,
        ]
      : []),
    ...(reads.files.length > 0 ? [`Files read: ${reads.files.map(nearPath).join(', ')}.`] : []),
    ...reads.variables.map(({ name, use }) => `Environment variable read: ${escapeForTerminal(`${name}, for ${use}`)}.`),
  ]
}

const plural = (count: number, thing: string): string => `${count.toLocaleString('en-US')} ${thing}${count === 1 ? '' : 's'}`

/** `2 keys and 1 document`. */
export function counted(items: Item[]): string {
  const kinds: Kind[] = ['provider', 'webhook', 'owner', 'agent', 'key', 'document']
  const parts = kinds.flatMap((kind) => {
    const count = items.filter((item) => item.kind === kind).length
    return count === 0 ? [] : [plural(count, kind)]
  })
  return parts.join(', ').replace(/, ([^,]*)$/, ' and $1')
}

/** Returns the line for a change that was made. */
export function doneLine(item: Item, more = ''): string {
  const verb = { create: 'Created', update: 'Updated', delete: item.kind === 'key' ? 'Revoked' : 'Deleted', none: '' }[item.action]
  return `${verb} ${escapeForTerminal(describe(item))}${more === '' ? '' : ` (${more})`}`
}
