/** The items of a plan: what exists, what differs and what to send. show-plan.ts prints them, carry-out.ts carries them out. */
import type { Fields } from '../admin-api/client.ts'
import type { WantedDocument } from './declaration.ts'

/** The difference of one field; null means no value. Long texts are not shortened. */
export type Difference = { from: unknown; to: unknown }
export type Differences = Record<string, Difference>

export type Action = 'create' | 'update' | 'delete' | 'none'
export type Kind = 'provider' | 'webhook' | 'owner' | 'agent' | 'key' | 'document'

type Base = {
  action: Action
  name: string
  /** Set for existing items, and for new items once they are created. */
  id: string | undefined
  parent: Item | undefined
  fields: Differences
}
export type Item = Base &
  (
    | { kind: 'provider'; body: Fields }
    | { kind: 'owner'; body: Fields }
    /** `version` and `enabled` as they were read; undefined for a new agent. */
    | { kind: 'agent'; body: Fields; version: number | undefined; enabled: boolean | undefined }
    | { kind: 'key'; body: Fields; secretFile: string | undefined }
    /** `scope.send` returns the rest of the body, which has IDs of items that are created first. */
    | { kind: 'webhook'; body: Fields; scope: { send(): Fields }; secretFile: string | undefined }
    | { kind: 'document'; wanted: WantedDocument | undefined }
  )

export type Plan = {
  /** Every item comes after its parent. */
  items: Item[]
  /** The IDs of everything that exists on the server. */
  known: Set<string>
  /** For each kind, how many items are on the server but missing from the declared lists. */
  left: Partial<Record<Kind, number>>
  /** How many values of keys, headers and secrets could not be compared and are kept. */
  uncompared: number
  /** Hints for the user about things that this command does not change. */
  notes: string[]
  /** Everything outside the declaration itself that was read for it: the paths of files, and environment variables with their use. */
  reads: { files: string[]; variables: { name: string; use: string }[] }
}

/** `agent Support of Acme Ltd`. */
export function describe({ kind, name, parent }: Pick<Item, 'kind' | 'name' | 'parent'>): string {
  return `${kind} ${name}${parent ? ` of ${parent.name}` : ''}`
}

/** Adds the difference to `fields` and returns whether there is one. An undefined `to` is never a difference. */
export function compare(fields: Differences, name: string, from: unknown, to: unknown): boolean {
  if (to === undefined || from === to) return false
  fields[name] = { from: from ?? null, to }
  return true
}

/** Writes an amount as the API does, with eight decimal places. */
export function writeUsd(text: string): string {
  const [whole = '0', places = ''] = text.split('.')
  return `${BigInt(whole)}.${places.padEnd(8, '0')}`
}
