/** How many fields and list elements a body may have if it fits a JSON Schema. */
import type { Json } from './test-app.ts'

/** Counts as src/http/edge/json-shape.ts does. Infinity if the schema sets no limit. */
export function valuesOf(schema: Json | boolean, named: Record<string, Json>): number {
  if (schema === false) return 0
  if (schema === true) return Infinity
  if (typeof schema['$ref'] === 'string') return valuesOf(named[schema['$ref'].replace(/#$/, '')]!, named)
  for (const name of ['anyOf', 'oneOf']) if (schema[name]) return Math.max(...schema[name].map((one: Json) => valuesOf(one, named)))
  if (schema['allOf']) return schema['allOf'].reduce((sum: number, one: Json) => sum + valuesOf(one, named), 0)
  if ('const' in schema || 'enum' in schema) return 0
  switch (schema['type']) {
    case 'object':
      return Math.max(1, fieldsOf(schema, named))
    case 'array':
      return Math.max(1, times(maxItemsOf(schema), 1 + valuesOf(schema['items'] ?? true, named)))
    case undefined:
      return Infinity
    default:
      return 0
  }
}

function fieldsOf(
  { properties = {}, patternProperties = {}, additionalProperties = true, maxProperties }: Json,
  named: Record<string, Json>,
): number {
  const known = Object.values(properties as Json).reduce((sum, one) => sum + 1 + valuesOf(one, named), 0)
  const others = [...Object.values(patternProperties as Json), additionalProperties].filter((one) => one !== false)
  return others.reduce((sum, one) => sum + times(maxProperties, 1 + valuesOf(one, named)), known)
}

const maxItemsOf = ({ maxItems, uniqueItems, items }: Json): number | undefined =>
  maxItems ?? (uniqueItems ? items?.enum?.length : undefined)

const times = (count = Infinity, each: number): number => (count === 0 ? 0 : count * each)
