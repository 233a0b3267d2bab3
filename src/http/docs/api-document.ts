/** Reads the parts of a description (OpenAPI 3.1.0) that its reference page shows. */

export type Schema = {
  type?: string
  const?: string
  enum?: string[]
  format?: string
  description?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  default?: number
  required?: string[]
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
  /** Of a text: what each event of a stream is. */
  contentSchema?: Schema
  /** Kinds of one object. The discriminator names the field that tells them apart. */
  oneOf?: Schema[]
  discriminator?: { propertyName: string }
  examples?: (string | number)[]
}

export type Parameter = {
  in: 'path' | 'query' | 'header'
  name: string
  required: boolean
  description?: string
  schema: Schema
  example?: string
}
export type Content = { schema: Schema; example?: unknown }
export type Response = { description: string; headers: Record<string, { description: string }>; content?: Record<string, Content> }

export type Operation = {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  parameters: Parameter[]
  requestBody?: { content: Record<string, Content> }
  responses: Record<string, Response>
}

export type ApiDocument = {
  info: { title: string; version: string; description: string }
  paths: Record<string, Record<string, Operation>>
  /** The chapters of the admin API. */
  tags?: { name: string; description?: string }[]
}

export type Endpoint = Operation & { method: string; path: string }

export const endpointsOf = ({ paths }: ApiDocument): Endpoint[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )

/** Returns a copy of the description in which the components are where they are referred to. No schema contains itself. */
export function readDescription(description: object): ApiDocument {
  const written: unknown = JSON.parse(JSON.stringify(description))
  const targets = new Map<string, unknown>()
  const targetOf = (reference: string): unknown => {
    if (!targets.has(reference)) {
      const names = reference.split('/').slice(1)
      targets.set(reference, resolved(names.reduce((part, name) => (part as Record<string, unknown>)[name], written)))
    }
    return targets.get(reference)
  }
  const resolved = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part
    if (Array.isArray(part)) return part.map(resolved)
    if ('$ref' in part) return targetOf(String(part.$ref))
    return Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, resolved(inner)]))
  }
  return resolved(written) as ApiDocument
}

/** Returns the error codes of an operation, from its response schemas. */
export const codesOf = ({ responses }: Operation): string[] => [
  ...new Set(
    Object.values(responses).flatMap(
      ({ content }) => content?.['application/json']?.schema.properties?.['error']?.properties?.['code']?.enum ?? [],
    ),
  ),
]

export type Field = { name: string; schema: Schema; required: boolean }

/**
 * Returns the fields of an object. Nested fields have their path as name: `message.content`, `data[].id`. Fields of one kind among several
 * have it in their path: `tools[type=http].url`. Of a field that may be null, the fields of its object are returned.
 */
export function fieldsOf(schema: Schema, prefix = ''): Field[] {
  const { properties = {}, required = [], oneOf = [], discriminator } = schema
  const ofKinds = oneOf.flatMap((kind) => {
    const field = discriminator?.propertyName ?? ''
    const value = kind.properties?.[field]?.const
    return fieldsOf(kind, value === undefined ? prefix : prefix.replace(/(\[\])?\.?$/, `[${field}=${value}].`))
  })
  const own = Object.entries(properties).flatMap(([key, property]) => {
    const name = `${prefix}${key}`
    const field = { name, schema: property, required: required.includes(key) }
    const object = [property, ...(property.anyOf ?? [])].find(({ type }) => type === 'object')
    if (object) return [field, ...fieldsOf(object, `${name}.`)]
    return property.items ? [field, ...fieldsOf(property.items, `${name}[].`)] : [field]
  })
  return [...own, ...ofKinds]
}

const formats: Record<string, string> = { uuid: '0193a6e2-5d4c-7b1a-9f3e-2c8d7a6b5e41', 'date-time': '2026-01-31T09:30:00.000Z' }

/** Builds an example value from the examples in the schema. */
export function exampleOf(schema: Schema): unknown {
  const { properties, items, anyOf, oneOf, examples, format } = schema
  if (oneOf) return exampleOf(oneOf[0]!)
  if (properties) return Object.fromEntries(Object.entries(properties).map(([key, property]) => [key, exampleOf(property)]))
  if (items) return [exampleOf(items)]
  if (anyOf) return anyOf.some(({ type }) => type === 'null') ? null : exampleOf(anyOf[0]!)
  return schema.const ?? schema.enum?.[0] ?? examples?.[0] ?? (format === undefined ? '…' : formats[format])
}
