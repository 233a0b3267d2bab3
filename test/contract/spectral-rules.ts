/**
 * The rules for both descriptions: all of Spectral's for OpenAPI, the optional ones too, and this project's own. A rule that is off says
 * why. examples.test.ts checks examples against their schemas.
 */
import { createRequire } from 'node:module'
import { dereferenced } from '../support/dereferenced.ts'

type Json = Record<string, any>
type Finding = { message: string; path: (string | number)[] }

type Check = (document: unknown, options: unknown, context: { path: (string | number)[] }) => Finding[]
type Rule = { description: string; message: string; given: string; resolved: boolean; severity: 'error'; then: { function: Check } }
export type Ruleset = { extends: [unknown, 'all'][]; rules: Record<string, 'off' | Rule> }

// Their published types would add a browser's to the whole program: these are the ones that are used.
const require = createRequire(import.meta.url)
const { oas } = require('@stoplight/spectral-rulesets') as { oas: unknown }

/** One of this project's rules as a function of the whole document. */
const rule = (description: string, find: (document: Json) => Finding[]): Rule => {
  const check: Check = (document, _options, { path }) =>
    find(document as Json).map((finding) => ({ message: finding.message, path: [...path, ...finding.path] }))
  // oxlint-disable-next-line unicorn/no-thenable -- the linter's own property name; a rule is never awaited.
  return { description, message: '{{error}}', given: '$', resolved: false, severity: 'error', then: { function: check } }
}

type Place = { path: string[]; operation: Json }

const operations = (document: Json): Place[] =>
  Object.entries<Json>(dereferenced(document)['paths']).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({ path: ['paths', path, method], operation })),
  )

const responses = (document: Json): { path: string[]; status: string; response: Json }[] =>
  operations(document).flatMap(({ path, operation }) =>
    Object.entries<Json>(operation['responses']).map(([status, response]) => ({ path: [...path, 'responses', status], status, response })),
  )

const isExampled = ({ example, examples, schema }: Json): boolean => [example, examples, schema?.examples].some((one) => one !== undefined)

/** `path` of each property of each schema in the document, with its schema. */
function* properties(schema: Json, path: string[]): Generator<{ path: string[]; name: string; property: Json }> {
  for (const [name, property] of Object.entries<Json>(schema['properties'] ?? {})) {
    yield { path: [...path, 'properties', name], name, property }
    yield* properties(property, [...path, 'properties', name])
  }
  if (schema['items']) yield* properties(schema['items'], [...path, 'items'])
  for (const [index, each] of (schema['anyOf'] ?? []).entries()) yield* properties(each, [...path, 'anyOf', String(index)])
}

// Their meaning is in their names, or in a constant.
const obvious = new Set(['id', 'role', 'data', 'event', 'error', 'code', 'message', 'usage', 'delta'])

const summaries = rule('A summary is short, begins with a capital and has no full stop.', (document) =>
  operations(document)
    .filter(({ operation }) => !/^[A-Z][^\n]{2,90}[^.]$/.test(operation['summary'] ?? ''))
    .map(({ path }) => ({ path, message: 'the summary is missing, long, or ends with a full stop' })),
)

const descriptions = rule('A description is made of sentences.', (document) =>
  operations(document)
    .filter(({ operation }) => !/^[A-Z`].*\.$/s.test(operation['description'] ?? ''))
    .map(({ path }) => ({ path, message: 'the description is missing, or is no sentence' })),
)

const requestIds = rule('X-Request-ID is on every response.', (document) =>
  responses(document)
    .filter(({ response }) => response['headers']?.['X-Request-ID']?.schema.format !== 'uuid')
    .map(({ path }) => ({ path, message: 'X-Request-ID is missing' })),
)

const envelopes = rule('A response that is a failure is the envelope, with an example for each code.', (document) =>
  responses(document)
    .filter(({ status, response }) => {
      if (Number(status) < 400) return false
      const { schema, examples } = response['content']?.['application/json'] ?? {}
      const error = schema?.properties?.error
      const isEnvelope = error?.required?.join() === 'code,message,request_id' && schema.required?.join() === 'error'
      return !isEnvelope || Object.keys(examples ?? {}).join() !== error.properties.code.enum?.join()
    })
    .map(({ path }) => ({ path, message: 'not the envelope, or a code without an example' })),
)

const headers = rule('A header says what it is.', (document) =>
  responses(document).flatMap(({ path, response }) =>
    Object.entries<Json>(response['headers'] ?? {})
      .filter(([, header]) => !header['description'])
      .map(([name]) => ({ path: [...path, 'headers', name], message: `${name} is not described` })),
  ),
)

const examples = rule('A request body and a successful answer have an example.', (document) =>
  operations(document)
    .flatMap(({ path, operation }) =>
      Object.entries<Json>(operation['requestBody']?.content ?? {}).map(([type, media]) => ({
        path: [...path, 'requestBody', type],
        media,
      })),
    )
    .concat(
      responses(document).flatMap(({ path, response }) =>
        Object.entries<Json>(response['content'] ?? {}).map(([type, media]) => ({ path: [...path, 'content', type], media })),
      ),
    )
    .filter(({ media }) => !isExampled(media))
    .map(({ path }) => ({ path, message: 'there is no example' })),
)

const streams = rule('A stream of events is a text, with the schema of its events beside it.', (document) =>
  responses(document)
    .filter(({ response }) => {
      const { schema } = response['content']?.['text/event-stream'] ?? {}
      return schema && !(schema.type === 'string' && schema.contentMediaType === 'text/event-stream' && schema.contentSchema)
    })
    .map(({ path }) => ({ path, message: 'the stream is described as one object' })),
)

const named = rule('A property of the public API is described, or its name says it.', (document) =>
  Object.entries<Json>(document['components'].schemas)
    .flatMap(([name, schema]) => [...properties(schema, ['components', 'schemas', name])])
    .filter(({ name, property }) => !property['description'] && !property['$ref'] && !obvious.has(name))
    .map(({ path, name }) => ({ path, message: `${name} is not described` })),
)

/** Every object in the document, with its path. */
function* objects(value: unknown, path: string[] = []): Generator<{ path: string[]; object: Json }> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield { path, object: value as Json }
  for (const [name, inner] of Object.entries(value)) yield* objects(inner, [...path, name])
}

const discriminators = rule('A discriminator selects one of several named schemas, each by a value that it requires.', (document) =>
  [...objects(document)]
    .filter(({ object }) => typeof object['discriminator'] === 'object' && object['discriminator'] !== null)
    .filter(({ object: { discriminator, oneOf, anyOf } }) => {
      const refs = ((oneOf ?? anyOf ?? []) as Json[]).map(({ $ref }) => $ref as string | undefined)
      const values = refs.map(
        (ref) => document['components'].schemas[ref?.split('/').at(-1) ?? '']?.properties?.[discriminator.propertyName]?.const,
      )
      const mapping = Object.entries(discriminator.mapping ?? {})
      return refs.length === 0 || refs.length !== mapping.length || mapping.some(([value, ref]) => ref !== refs[values.indexOf(value)])
    })
    .map(({ path }) => ({ path, message: 'the schemas are not named, or the mapping does not name them by their values' })),
)

const rules: Ruleset['rules'] = {
  // OpenAPI 3.1 allows an identifier (SPDX) or a url, never both; the identifier is what programs read.
  'license-url': 'off',
  // The contact is whoever runs an installation, whose mailbox or site the server does not know.
  'contact-properties': 'off',
  // Tags are in the order in which an installation is set up, which is how a reader goes through them.
  'openapi-tags-alphabetical': 'off',
  // examples.test.ts checks every example against its schema, closed.
  'oas3-valid-media-example': 'off',
  'oas3-valid-schema-example': 'off',
  'turnkeep-summary': summaries,
  'turnkeep-description': descriptions,
  'turnkeep-request-id': requestIds,
  'turnkeep-envelope': envelopes,
  'turnkeep-header-description': headers,
  'turnkeep-examples': examples,
  'turnkeep-streams': streams,
  'turnkeep-discriminator': discriminators,
}

export const rulesOfBoth: Ruleset = { extends: [[oas, 'all']], rules }
export const rulesOfPublic: Ruleset = { extends: [[oas, 'all']], rules: { ...rules, 'turnkeep-property-description': named } }
