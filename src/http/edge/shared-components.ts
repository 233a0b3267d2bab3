/**
 * Makes an API description small: a part that occurs in it more than once becomes a component with a name, and references replace it. The
 * plugin that generates the description repeats every response, header and parameter for every operation. A description whose references
 * are resolved says the same as before.
 */
import { STATUS_CODES } from 'node:http'

type Parts = Record<string, unknown>
type Schema = Parts & { $ref?: string; contentSchema?: Schema }
type Media = { schema?: Schema; examples?: Record<string, object> }
type Response = { headers?: Record<string, object>; content?: Record<string, Media> }
type Operation = {
  parameters?: { in: string; name: string }[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, Response>
  security?: object[]
}
type Kind = 'schemas' | 'responses' | 'headers' | 'parameters' | 'examples'
type ApiDocument = { paths: Record<string, Record<string, Operation>>; components: Partial<Record<Kind, Parts>> }

/** A part of the description, which is `holder[key]`, and its name if it is shared. Without a name, it stays where it is. */
type Place = { holder: Parts; key: string; name: string | undefined }

/** Changes the description, which must be of OpenAPI 3. */
export function shareComponents(description: object): void {
  const { paths, components } = description as ApiDocument
  const operations = Object.entries(paths).flatMap(([path, item]) => Object.values(item).map((operation) => ({ path, operation })))
  const shareParts = (kind: Kind, places: Place[]): void => share(kind, (components[kind] ??= {}), places)

  shareParts(
    'parameters',
    operations.flatMap(({ path, operation }) => partsOf(operation.parameters, (one) => nameOfParameter(one.name, path))),
  )
  shareParts(
    'responses',
    operations.flatMap(({ operation }) => partsOf(operation.responses, (one, status) => nameOfResponse(one, status, operation))),
  )
  const responses = [...operations.map(({ operation }) => operation.responses), components.responses as Operation['responses']].flatMap(
    Object.values<Response>,
  )
  shareParts(
    'headers',
    responses.flatMap(({ headers }) => partsOf(headers, (_, name) => name)),
  )
  const answers = responses.flatMap(({ content = {} }) => Object.values(content))
  shareParts(
    'examples',
    answers.flatMap(({ examples }) => partsOf(examples, (_, name) => name)),
  )
  shareParts(
    'schemas',
    answers.flatMap((media) =>
      partsOf(media, (_, key) => (key === 'schema' && media.examples ? nameOfCodes(Object.keys(media.examples)) : undefined)),
    ),
  )
  const bodies = operations.flatMap(({ operation }) => Object.values(operation.requestBody?.content ?? {}))
  const parameters = Object.values(components.parameters as Record<string, Media>)
  referToSchemas(components.schemas as Record<string, Schema>, [...answers, ...bodies, ...parameters])
}

const partsOf = <Part>(
  holder: Record<string, Part> | Part[] | undefined,
  nameOf: (part: Part, key: string) => string | undefined,
): Place[] => Object.entries(holder ?? {}).map(([key, part]) => ({ holder: holder as Parts, key, name: nameOf(part, key) }))

/** If different parts have the same name, the one that occurs most often becomes the component. */
function share(kind: Kind, named: Parts, places: Place[]): void {
  const alike = Map.groupBy(places, ({ holder, key }) => JSON.stringify(holder[key]))
  for (const group of [...alike.values()].toSorted((one, other) => other.length - one.length)) {
    const { holder, key, name } = group[0]!
    if (group.length === 1 || name === undefined || Object.hasOwn(named, name)) continue
    named[name] = holder[key]
    for (const place of group) place.holder[place.key] = { $ref: `#/components/${kind}/${name}` }
  }
}

/** `external_user_id` becomes `ExternalUserId`. */
const inPascalCase = (text: string): string => text.replaceAll(/(?:^|[_-])([A-Za-z])/g, (_, letter: string) => letter.toUpperCase())

/** `/owners/{id}` has the parameter `OwnerId`. */
function nameOfParameter(name: string, path: string): string {
  const noun = name === 'id' ? /([a-z]+)s\/\{id\}/.exec(path)?.[1] : undefined
  return inPascalCase(noun === undefined ? name : `${noun}_id`)
}

/**
 * A response is named after its schema or its error codes, or after its status if it has many codes or no body. The response to a request
 * without a sign-in has other headers, because no rate limit applies.
 */
function nameOfResponse({ content = {} }: Response, status: string, { security }: Operation): string | undefined {
  const [media] = Object.values(content)
  const schema = media?.schema?.$ref ?? media?.schema?.contentSchema?.$ref
  const codes = Object.keys(media?.examples ?? {})
  const ofStatus = media && Number(status) < 400 ? undefined : STATUS_CODES[status]!.replaceAll(' ', '')
  const name = schema?.split('/').at(-1) ?? (codes.length === 1 || codes.length === 2 ? nameOfCodes(codes) : ofStatus)
  return name !== undefined && security?.length === 0 ? `${name}BeforeSignIn` : name
}

const nameOfCodes = (codes: string[]): string => codes.map(inPascalCase).join('Or')

/** Replaces every schema that is equal to one with a name. */
function referToSchemas(schemas: Record<string, Schema>, media: Media[]): void {
  const names = new Map(Object.entries(schemas).map(([name, schema]) => [JSON.stringify(schema), name]))
  const refer = (holder: Parts, key: string): void => {
    const schema = holder[key]
    if (typeof schema !== 'object' || schema === null || '$ref' in schema) return
    const name = names.get(JSON.stringify(schema))
    if (name === undefined) referWithin(schema as Schema)
    else holder[key] = { $ref: `#/components/schemas/${name}` }
  }
  const referWithin = (schema: Schema): void => {
    for (const keyword of ['items', 'additionalProperties', 'contentSchema']) refer(schema, keyword)
    for (const keyword of ['properties', 'anyOf', 'oneOf']) {
      const inner = (schema[keyword] ?? {}) as Parts
      for (const key of Object.keys(inner)) refer(inner, key)
    }
  }
  for (const one of media) refer(one, 'schema')
  for (const schema of Object.values(schemas)) referWithin(schema)
}
