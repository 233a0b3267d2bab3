/** What a declaration comes to, thing by thing: what is there, what differs, and what would be sent. Shown by show-plan.ts, done by carry-out.ts. */
import type { Fields } from '../admin-api/client.ts'
import type { WantedDocument } from './declaration.ts'

/** Of one field; null: nothing. `hidden`: a value that is never told. Long texts stand here whole. */
export type Difference = { from: unknown; to: unknown }
export type Differences = Record<string, Difference>

export type Action = 'create' | 'update' | 'delete' | 'none'
export type Kind = 'provider' | 'owner' | 'agent' | 'key' | 'document'

type Base = {
  action: Action
  name: string
  /** Of what is there, and of what was made meanwhile. */
  id: string | undefined
  parent: Item | undefined
  fields: Differences
}
export type Item = Base &
  (
    | { kind: 'provider' | 'owner'; body: Fields }
    /** `version` and `enabled` as they were read; undefined for a new one. */
    | { kind: 'agent'; body: Fields; version: number | undefined; enabled: boolean | undefined }
    | { kind: 'key'; body: Fields; secretFile: string | undefined }
    | { kind: 'document'; wanted: WantedDocument | undefined }
  )

export type Plan = {
  /** Each after what it is below. */
  items: Item[]
  /** Ids of all that is there. */
  known: Set<string>
  /** What is on the server, in lists that the declaration gives, and not in it: how many of each kind. */
  left: Partial<Record<Kind, number>>
  /** Stored values of keys, headers and secrets that nobody can compare, and that stay. */
  uncompared: number
  /** What a person should know and this command does not change. */
  notes: string[]
}

/** `agent Support of Acme Ltd`. */
export function describe({ kind, name, parent }: Pick<Item, 'kind' | 'name' | 'parent'>): string {
  return `${kind} ${name}${parent ? ` of ${parent.name}` : ''}`
}

/** Adds what differs; an absent wish differs from nothing. */
export function compare(fields: Differences, name: string, from: unknown, to: unknown): boolean {
  if (to === undefined || from === to) return false
  fields[name] = { from: from ?? null, to }
  return true
}

/** Amounts as the API writes them, with eight places. */
export function writeUsd(text: string): string {
  const [whole = '0', places = ''] = text.split('.')
  return `${BigInt(whole)}.${places.padEnd(8, '0')}`
}
