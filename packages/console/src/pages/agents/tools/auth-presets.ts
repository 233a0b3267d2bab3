/**
 * The usual ways to authenticate, as the headers and secrets that they are stored as. They are recognized by names, because stored values
 * are never returned. Pure.
 */
import type { TextRow } from './text-rows.ts'

export const authKinds = ['none', 'bearer', 'header', 'basic', 'custom'] as const
export type AuthKind = (typeof authKinds)[number]

/** `secrets` null: an MCP server, whose headers contain the values themselves. */
export type AuthRows = { headers: TextRow[]; secrets: TextRow[] | null }

const secretNames: Partial<Record<AuthKind, string>> = { bearer: 'bearer_token', header: 'api_key', basic: 'basic_credentials' }
const defaultHeader = 'X-API-Key'

const isAuthorization = ({ name }: TextRow): boolean => name.trim().toLowerCase() === 'authorization'

export function recognize({ headers, secrets }: AuthRows): AuthKind {
  if (headers.length === 0 && (secrets === null || secrets.length === 0)) return 'none'
  if (secrets === null) {
    const [header, ...others] = headers
    if (!header || others.length > 0) return 'custom'
    if (!isAuthorization(header)) return 'header'
    return header.stored && header.value === '' ? 'custom' : /^basic /i.test(header.value) ? 'basic' : 'bearer'
  }
  const kind = (['bearer', 'basic'] as const).find((one) => secrets.some(({ name }) => name === secretNames[one]))
  if (kind && headers.some(isAuthorization)) return kind
  // One header with one secret, whatever their names.
  return headers.length === 1 && secrets.length === 1 && !isAuthorization(headers[0]!) ? 'header' : 'custom'
}

/** The rows that a preset owns: its header and its secret. Others are edited as they are. */
export function ownedBy(kind: AuthKind, { headers, secrets }: AuthRows): { header: TextRow | undefined; secret: TextRow | undefined } {
  if (kind === 'none' || kind === 'custom') return { header: undefined, secret: undefined }
  const header = kind === 'header' ? headers[0] : headers.find(isAuthorization)
  const secret = secrets?.find(({ name }) => name === secretNames[kind]) ?? (kind === 'header' ? secrets?.[0] : undefined)
  return { header, secret }
}

/** The rows after another way was chosen: those of the previous one are removed, and others stay. */
export function choose(kind: AuthKind, before: AuthKind, rows: AuthRows): AuthRows {
  // Custom shows the same rows as they are.
  if (kind === 'custom') return rows
  const owned = ownedBy(before, rows)
  const isNone = kind === 'none'
  const headers = isNone ? [] : rows.headers.filter((row) => row !== owned.header && !(kind !== 'header' && isAuthorization(row)))
  const secrets = isNone ? [] : (rows.secrets?.filter((row) => row !== owned.secret) ?? [])
  if (isNone) return { headers, secrets: rows.secrets && secrets }
  const header = newRow(
    rows.headers,
    kind === 'header' ? defaultHeader : 'Authorization',
    rows.secrets ? templateOf(kind, secretNames[kind]!) : '',
  )
  if (!rows.secrets) return { headers: [header, ...headers], secrets: null }
  return { headers: [header, ...headers], secrets: [newRow(rows.secrets, secretNames[kind]!, ''), ...secrets] }
}

const newRow = (among: TextRow[], name: string, value: string): TextRow => ({
  key: Math.max(-1, ...among.map(({ key }) => key)) + 1,
  name,
  value,
  stored: false,
})

/** The value of the header, in which the secret is inserted. */
const templateOf = (kind: AuthKind, secretName: string): string =>
  kind === 'bearer' ? `Bearer {${secretName}}` : kind === 'basic' ? `Basic {${secretName}}` : `{${secretName}}`

/**
 * The headers as they are sent. If the stored ones cannot be kept, that of a preset is written again, because only its secret is entered
 * again.
 */
export function headersToSend(rows: AuthRows, mustReenter: boolean): TextRow[] {
  const kind = recognize(rows)
  const { header, secret } = ownedBy(kind, rows)
  if (!mustReenter || !header?.stored || header.value !== '' || !secret || !isOwnSecret(kind, secret)) return rows.headers
  return rows.headers.map((row) => (row === header ? { ...row, value: templateOf(kind, secret.name) } : row))
}

/** Of another secret, the text around it in the header is not known. */
export const isOwnSecret = (kind: AuthKind, secret: TextRow): boolean => secret.name === secretNames[kind]

/** The value of the secret, or of the header of an MCP server; empty while nothing is entered. */
export function valueOf(kind: AuthKind, entered: string, isInHeader: boolean): string {
  if (entered === '') return ''
  const prefix = isInHeader && kind !== 'header' ? (kind === 'bearer' ? 'Bearer ' : 'Basic ') : ''
  return `${prefix}${entered}`
}

/** The credentials of Basic authentication, in UTF-8; empty without a user name. */
export const basicCredentials = (user: string, password: string): string =>
  user === '' ? '' : btoa(String.fromCharCode(...new TextEncoder().encode(`${user}:${password}`)))
