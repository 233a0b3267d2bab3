/**
 * The formats of JSON Schema that are checked. The library's expressions scan a text once, except those for `url`, `uri-template` and
 * `regex`, which are left out or limited here. A format without a check is ignored, as JSON Schema says.
 */
import { format } from '@cfworker/json-schema'
import type { Operations } from './operations.ts'

const linear = [
  'date',
  'time',
  'date-time',
  'duration',
  'uri',
  'uri-reference',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
  'json-pointer',
  'json-pointer-uri-fragment',
  'relative-json-pointer',
]
// Parsing an expression costs more than reading it.
const maxExpression = 1000

/** Whether the text has the format. Throws OperationsSpent. */
export function hasFormat(name: string, text: string, operations: Operations): boolean {
  operations.spend(text.length)
  if (linear.includes(name)) return format[name]!(text)
  if (name === 'url') return /^(https?|ftp):\/\/\S+$/i.test(text) && URL.canParse(text)
  if (name === 'uri-template') return isTemplate(text)
  if (name === 'regex') return text.length <= maxExpression && format['regex']!(text)
  return true
}

/** RFC 6570: literals and `{expressions}`, each scanned once. */
function isTemplate(text: string): boolean {
  const pieces = text.split(/(\{[^{}]*\})/)
  return pieces.every((piece, index) =>
    index % 2 === 1
      ? /^\{[+#./;?&=,!@|]?[^{}]+\}$/.test(piece) &&
        piece
          .slice(1, -1)
          .replace(/^[+#./;?&=,!@|]/, '')
          .split(',')
          .every(isVariable)
      : // oxlint-disable-next-line no-control-regex
        /^(?:[^\x00-\x20\x7f"<>%\\^`{|}]|%[0-9a-f]{2})*$/i.test(piece),
  )
}

const isVariable = (text: string): boolean => /^(?:[\w.]|%[0-9a-f]{2})+(?::[1-9]\d{0,3}|\*)?$/i.test(text)
