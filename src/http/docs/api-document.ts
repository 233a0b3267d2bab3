/** Reads the parts of /openapi.json that the reference page shows, in the form in which they are served. OpenAPI 3.1.0. */

export type Schema = {
  $ref?: string
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
  components: { schemas: Record<string, Schema> }
  /** The chapters of the admin API. */
  tags?: { name: string; description?: string }[]
}

export type Endpoint = Operation & { method: string; path: string }

export const endpointsOf = ({ paths }: ApiDocument): Endpoint[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )

/** Returns the schema that a reference points to. */
export function resolve({ components }: ApiDocument, schema: Schema): Schema {
  return schema.$ref === undefined ? schema : components.schemas[schema.$ref.slice('#/components/schemas/'.length)]!
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
export function fieldsOf(document: ApiDocument, schema: Schema, prefix = ''): Field[] {
  const { properties = {}, required = [], oneOf = [], discriminator } = resolve(document, schema)
  const ofKinds = oneOf.flatMap((kind) => {
    const field = discriminator?.propertyName ?? ''
    const value = resolve(document, kind).properties?.[field]?.const
    return fieldsOf(document, kind, value === undefined ? prefix : prefix.replace(/(\[\])?\.?$/, `[${field}=${value}].`))
  })
  const own = Object.entries(properties).flatMap(([key, property]) => {
    const name = `${prefix}${key}`
    const inner = resolve(document, property)
    const field = { name, schema: inner, required: required.includes(key) }
    const object = inner.anyOf?.map((one) => resolve(document, one)).find(({ type }) => type === 'object')
    if (object) return [{ ...field }, ...fieldsOf(document, object, `${name}.`)]
    if (inner.type === 'object') return [{ ...field }, ...fieldsOf(document, inner, `${name}.`)]
    return inner.items ? [{ ...field }, ...fieldsOf(document, inner.items, `${name}[].`)] : [field]
  })
  return [...own, ...ofKinds]
}

const formats: Record<string, string> = { uuid: '0193a6e2-5d4c-7b1a-9f3e-2c8d7a6b5e41', 'date-time': '2026-01-31T09:30:00.000Z' }

/** Builds an example value from the examples in the schema. */
export function exampleOf(document: ApiDocument, given: Schema): unknown {
  const schema = resolve(document, given)
  const { properties, items, anyOf, oneOf, examples, format } = schema
  if (oneOf) return exampleOf(document, oneOf[0]!)
  if (properties) return Object.fromEntries(Object.entries(properties).map(([key, property]) => [key, exampleOf(document, property)]))
  if (items) return [exampleOf(document, items)]
  if (anyOf) return anyOf.some(({ type }) => type === 'null') ? null : exampleOf(document, anyOf[0]!)
  return schema.const ?? schema.enum?.[0] ?? examples?.[0] ?? (format === undefined ? '…' : formats[format])
}
