/**
 * What the audit log shows of a change: the fields of a thing before and after it, with the names and units of the API (`audit.changes`). An
 * entry is never erased, so it contains no secret, no text of an end user and no name of one. Such a field is `withheld`: an entry says only
 * that it changed.
 */
import { nameOf, valueAt } from '../../resources/field.ts'
import type { Field, Fields, Resource } from '../../resources/field.ts'
import { toJson } from '../../resources/json.ts'
import { formatUsd } from '../../ledger/ledger.ts'
import type { Amount } from '../../ledger/ledger.ts'
import type { Changes, NewAuditEntry, Shown } from './audit.ts'

/** The fields of one thing, in the order in which an entry lists them. Nested names have dots. */
export type AuditedFields = { [name: string]: Shown | Withheld }

/** A value that is compared and never stored. */
class Withheld {
  readonly text: string
  constructor(value: unknown) {
    this.text = JSON.stringify(value)
  }
}
export const withheld = (value: unknown): Withheld => new Withheld(value)

/** What a write returned, if it did anything. */
type Perhaps<Thing> = Thing | false | null | undefined

/** `[entry]` without fields, if something was done. */
export const when = (done: unknown, verb: string, noun: string, subjectId: string): NewAuditEntry[] =>
  done ? [{ verb, noun, subjectId }] : []

/** `[entry]` with what the thing has, if it was created. */
export const created = <Thing>(
  noun: string,
  subjectId: string,
  fieldsOf: (thing: Thing) => AuditedFields,
  after: Perhaps<Thing>,
): NewAuditEntry[] => (after ? differing('create', noun, subjectId, {}, fieldsOf(after)) : [])

/** `[entry]` with what the thing had, if it was deleted. */
export const deleted = <Thing>(
  noun: string,
  subjectId: string,
  fieldsOf: (thing: Thing) => AuditedFields,
  before: Perhaps<Thing>,
): NewAuditEntry[] => (before ? differing('delete', noun, subjectId, fieldsOf(before), {}) : [])

/** `[entry]` with what differs, if the thing was changed and anything does. */
export function changed<Thing>(
  noun: string,
  subjectId: string,
  fieldsOf: (thing: Thing) => AuditedFields,
  before: Perhaps<Thing>,
  after: Perhaps<Thing>,
): NewAuditEntry[] {
  const entries = before && after ? differing('change', noun, subjectId, fieldsOf(before), fieldsOf(after)) : []
  return entries.filter(({ fields }) => fields.length > 0)
}

/** `[entry]` with what differs. A field that only one side has differs from null. A withheld one is not listed then, because the verb says enough. */
export function differing(
  verb: string,
  noun: string,
  subjectId: string,
  before: AuditedFields,
  after: AuditedFields,
): Required<NewAuditEntry>[] {
  const fields: string[] = []
  const changes: Changes = {}
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old = null, fresh = null] = [before[name], after[name]]
    if (old instanceof Withheld || fresh instanceof Withheld) {
      if (old instanceof Withheld && fresh instanceof Withheld && old.text !== fresh.text) fields.push(name)
    } else if (JSON.stringify(old) !== JSON.stringify(fresh)) {
      fields.push(name)
      changes[name] = excerpts(old, fresh)
    }
  }
  return [{ verb, noun, subjectId, fields, changes }]
}

/** In characters. Enough to see what changed in a prompt; the versions of an agent have the whole texts. */
const maxShownText = 500
// What precedes the first difference of two long texts.
const leadIn = 50

/** Cuts long texts: `…` stands for what is missing. Of two that start alike, the parts from shortly before their first difference. */
function excerpts(before: Shown, after: Shown): { before: Shown; after: Shown } {
  const [old, fresh] = [before, after].map((value) => (typeof value === 'string' ? [...value] : []))
  if (old!.length <= maxShownText && fresh!.length <= maxShownText) return { before, after }
  let same = 0
  while (same < old!.length && old![same] === fresh![same]) same++
  const start = Math.max(0, same - leadIn)
  const excerpt = (value: Shown, text: string[]): Shown => {
    if (typeof value !== 'string') return value
    const end = start + maxShownText
    return `${start > 0 ? '…' : ''}${text.slice(start, end).join('')}${text.length > end ? '…' : ''}`
  }
  return { before: excerpt(before, old!), after: excerpt(after, fresh!) }
}

/** The fields of a resource that requests set, as their declaration says. */
export const auditedOf =
  <F extends Fields>(fields: F) =>
  (thing: Partial<Resource<F>>): AuditedFields =>
    Object.fromEntries(
      Object.entries(fields)
        .filter(([, { create, change, audit }]) => create ?? change ?? audit)
        .flatMap(([name, field]) => audited(nameOf(name, field), field, valueAt(thing, name))),
    )

function audited(name: string, { kind, audit }: Field, value: unknown): [string, Shown | Withheld][] {
  switch (audit) {
    case 'withheld':
      return [[name, withheld(toJson(kind, value))]]
    case 'origin':
      // The path and the query of an address often contain its credentials.
      return [
        [name, `${URL.parse(String(value))?.origin ?? ''}/…`],
        // mutant: audit.changes
        [`${name}.path`, withheld(value)],
      ]
    default:
      return [[name, toJson(kind, value)]]
  }
}

export const usdOrNull = (amount: Amount | null): string | null => (amount === null ? null : formatUsd(amount))
