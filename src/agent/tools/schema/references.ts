/**
 * Finds what the references of a JSON Schema lead to (`tools.arguments`). A reference leads to a schema within the same one or nowhere; nothing
 * is fetched. Each reference costs no more than its length and that of the longest `$id`, so that no schema of a third party takes long.
 */
import { UnusableSchema } from './check-value.ts'
import { isObject, show } from './keywords.ts'
import type { SchemaObject } from './keywords.ts'
import type { SchemaNode } from './schema-nodes.ts'

/** `schema` is undefined if the reference leads nowhere. `at` is the path of the schema with the reference. */
export type Reference = { to: unknown; at: string; schema: SchemaObject | boolean | undefined }

/** A schema with a URI of its own, against which the references within it are resolved. */
type Resource = { uri: string; root: SchemaObject }

// Of a schema without an `$id`.
const noUri = 'https://schema.invalid/'
// URIs in schemas have about a hundred characters. Each relative reference is resolved against one.
const maxUri = 2048

/**
 * Returns the references by the schema that contains them. `nodes` are all schemas of one, from the outside to the inside. Throws
 * UnusableSchema for an `$id` that is invalid, too long, or used twice.
 */
export function referencesOf(nodes: SchemaNode[]): Map<SchemaObject, Reference> {
  const within = new Map<SchemaObject, Resource>()
  // By URI, and by URI and name for those with a name only.
  const known = new Map<string, SchemaObject>()
  for (const { node, parent } of nodes) {
    const outer = parent === undefined ? { uri: noUri, root: node } : within.get(parent)!
    const resource = resourceOf(node, outer, known)
    within.set(node, resource)
    if (typeof node['$anchor'] === 'string') known.set(`${resource.uri}#${node['$anchor']}`, node)
    if (parent === undefined) known.set(resource.uri, node)
  }

  const references = new Map<SchemaObject, Reference>()
  for (const { node, at } of nodes) {
    const to = node['$ref'] ?? node['$recursiveRef']
    if (to === undefined) continue
    references.set(node, { to, at, schema: typeof to === 'string' ? target(to, within.get(node)!) : undefined })
  }
  return references

  function target(reference: string, { uri, root }: Resource): SchemaObject | boolean | undefined {
    if (reference.startsWith('#')) return fragment(reference.slice(1), uri, root)
    const url = URL.parse(reference, uri)
    if (!url) return undefined
    const name = url.hash.slice(1)
    url.hash = ''
    return fragment(name, url.href, known.get(url.href))
  }

  function fragment(encoded: string, uri: string, root: SchemaObject | undefined): SchemaObject | boolean | undefined {
    const name = decode(encoded)
    if (name === undefined || name === '') return name === undefined ? undefined : root
    if (!name.startsWith('/')) return known.get(`${uri}#${name}`)
    const found = name.slice(1).split('/').reduce<unknown>(stepInto, root)
    // Data may look like a schema, but it is not one.
    return typeof found === 'boolean' || (isObject(found) && within.has(found)) ? found : undefined
  }
}

/**
 * Finds a reference that leads back to itself without going into the value, so that no check would ever end. A reference below `properties`
 * or `items` may lead back: the value ends. Visits each schema once.
 */
export function findCircular(nodes: SchemaNode[], references: Map<SchemaObject, Reference>): Reference | undefined {
  const visited = new Map<SchemaObject, 'open' | 'ended'>()
  const nextOf = (node: SchemaObject): SchemaObject[] => appliedToSame(node, references).filter(isObject)

  /** A list of its own and no recursion, because references may follow each other thousands of times. */
  function isCircular(start: SchemaObject): boolean {
    const path: { node: SchemaObject; next: SchemaObject[] }[] = []
    const enter = (node: SchemaObject): void => {
      visited.set(node, 'open')
      path.push({ node, next: nextOf(node) })
    }
    if (!visited.has(start)) enter(start)
    for (let last = path.at(-1); last; last = path.at(-1)) {
      const next = last.next.pop()
      if (next === undefined) visited.set(path.pop()!.node, 'ended')
      else if (visited.get(next) === 'open') return true
      else if (!visited.has(next)) enter(next)
    }
    return false
  }

  const found = nodes.find(({ node }) => references.has(node) && isCircular(node))
  return found && references.get(found.node)
}

/** The schemas that a schema applies to the same value. */
function appliedToSame(node: SchemaObject, references: Map<SchemaObject, Reference>): unknown[] {
  const { allOf, anyOf, oneOf, not, if: condition, then, else: otherwise, dependentSchemas } = node
  return [
    references.get(node)?.schema,
    ...[allOf, anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : [])),
    not,
    condition,
    then,
    otherwise,
    ...(isObject(dependentSchemas) ? Object.values(dependentSchemas) : []),
  ]
}

/** Returns the resource that a schema belongs to: its own if it has an `$id` (`id` in draft 4). One with only a fragment is a name, as in draft 6. */
function resourceOf(node: SchemaObject, outer: Resource, known: Map<string, SchemaObject>): Resource {
  const id = node['$id'] ?? node['id']
  if (typeof id !== 'string' || id === '') return outer
  const url = URL.parse(id, outer.uri)
  if (!url) throw new UnusableSchema(`the $id ${show(id)} is not a URI`)
  const name = decode(url.hash.slice(1))
  if (!name) url.hash = ''
  if (url.href.length > maxUri) throw new UnusableSchema(`an $id has more than ${maxUri} characters`)
  const key = name ? `${url.href.slice(0, -url.hash.length)}#${name}` : url.href
  if (known.has(key) && known.get(key) !== node) throw new UnusableSchema(`the $id ${show(id)} is used twice`)
  known.set(key, node)
  return name ? outer : { uri: url.href, root: node }
}

function stepInto(inside: unknown, token: string): unknown {
  const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
  if (Array.isArray(inside)) return /^(0|[1-9]\d*)$/.test(name) ? inside[Number(name)] : undefined
  return isObject(inside) && Object.hasOwn(inside, name) ? inside[name] : undefined
}

function decode(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}
