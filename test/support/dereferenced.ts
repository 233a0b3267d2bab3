/** A description as its reader sees it: with the component in place of each reference. */
import { targetOf } from './answer-check-schema.ts'

type Json = Record<string, any>

/** Returns a copy. What is referred to several times is the same object in all of its places. Throws for a reference that leads nowhere. */
export function dereferenced(document: Json): Json {
  const targets = new Map<unknown, unknown>()
  const resolve = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part
    if (targets.has(part)) return targets.get(part)
    if ('$ref' in part) return resolve(targetOf(String(part.$ref), document))
    const copy: Json = Array.isArray(part) ? [] : {}
    targets.set(part, copy)
    for (const [name, inner] of Object.entries(part)) copy[name] = resolve(inner)
    return copy
  }
  return resolve(document) as Json
}
