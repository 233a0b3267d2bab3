/**
 * Lists the schemas within a JSON Schema, each once, in time that is linear in its size. Schemas of tools come from third-party servers, so
 * nothing else walks through one on its own.
 */
import { UnusableSchema } from './check-value.ts'
import { isObject } from './keywords.ts'
import type { SchemaObject } from './keywords.ts'

/** `at` is the path of the schema. `parent` is the schema that contains it; undefined for the whole one. */
export type SchemaNode = { node: SchemaObject; at: string; parent: SchemaObject | undefined }

// Keywords whose value is data, and those whose value has a schema under each name.
const data = new Set(['enum', 'const', 'default', 'examples', 'dependentRequired', '$vocabulary'])
const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'])
const lists = new Set(['prefixItems', 'items', 'allOf', 'anyOf', 'oneOf'])

// Levels of JSON. A request may have as many, and so may the schema of an MCP server.
const maxLevels = 64

/** A schema comes before those that it contains. Throws UnusableSchema if they are nested too deeply. */
export function nodesOf(schema: SchemaObject): SchemaNode[] {
  const nodes: SchemaNode[] = []
  const open: (SchemaNode & { level: number })[] = [{ node: schema, at: '', parent: undefined, level: 0 }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, at, parent, level } = next
    if (level > maxLevels) throw new UnusableSchema('it is nested too deeply')
    nodes.push({ node, at, parent })
    // The last one is taken first.
    for (const [path, inner, levels] of childrenOf(node).toReversed())
      if (isObject(inner)) open.push({ node: inner, at: `${at}/${path}`, parent: node, level: level + levels })
  }
  return nodes
}

function childrenOf(node: SchemaObject): [path: string, inner: unknown, levels: number][] {
  return Object.entries(node).flatMap(([keyword, value]): [string, unknown, number][] => {
    if (data.has(keyword)) return []
    if (lists.has(keyword) && Array.isArray(value)) return value.map((one, index) => [`${keyword}/${index}`, one, 2])
    if (maps.has(keyword) && isObject(value)) return Object.entries(value).map(([name, one]) => [`${keyword}/${name}`, one, 2])
    return [[keyword, value, 1]]
  })
}
