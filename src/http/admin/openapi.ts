/** Serves /admin/v1/openapi.json, generated from the schemas of the admin routes. Requires the admin token, like the API itself. */
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import type { FailureCode } from '../../errors.ts'
import { describeFailures, rateLimitHeaders } from '../public/answers.ts'
import { adminSchemas } from './answers.ts'
import { sharedSchemas } from './shared-schemas.ts'
import { documentBodies } from './agents/documents.ts'
import { contact, idempotencyKey, refNames } from '../public/openapi.ts'
import { describeLate } from '../edge/late-description.ts'
import type { Description } from '../edge/late-description.ts'
import { Type } from '../edge/schema.ts'
import { sendFile, servedJson } from '../edge/served-file.ts'
import type { ServedFile } from '../edge/served-file.ts'

const description = [
  'Configures and monitors an installation. Amounts are decimal strings of USD with 8 decimal places, times are UTC, and lists are sorted',
  'newest first. Unknown fields are rejected. Every change is recorded in the audit log.',
].join(' ')

// In the order in which an operator sets up an installation and then runs it.
const tags = {
  Owners: 'Owners pay for turns. Each has a balance and a ledger of every change to it.',
  Providers: 'Model providers and their API keys.',
  Agents: 'Agents: a system prompt, a model, tools and a knowledge base, with versions.',
  Knowledge: 'The documents in the knowledge base of an agent.',
  Keys: 'API keys of an agent, each with its permission and rate limit.',
  History: 'Stored conversations, messages and turns.',
  'End users': 'The end users of an agent, and all data of one.',
  Erasure: 'Permanent deletion of conversation text.',
  Usage: 'Usage by hour and day, and by owner, agent, key and end user.',
  Webhooks: 'Endpoints that are notified of events, and what was delivered to them.',
  Operators: 'The people who sign in to the console, with their roles.',
  Tokens: 'Tokens of this API for programs, with a role and a restriction.',
  Audit: 'The audit log: who changed what.',
  Session: 'Signing in to and out of the console.',
  Service: 'Service status, what needs attention, and verification of the stored data.',
}

// For the description only. The routes read and validate these headers themselves.
const headersOf: Record<string, object> = {
  addLedgerEntry: Type.Object({
    'Idempotency-Key': idempotencyKey('Unique per ledger entry of this owner. Never expires.', 'invoice-2026-0117'),
  }),
  playInPlayground: Type.Object({
    'Idempotency-Key': Type.Optional(idempotencyKey('As in the public API. If omitted, every call is a new message.', 'playground-1')),
  }),
}

const session = {
  type: 'apiKey',
  in: 'cookie',
  name: 'turnkeep_session',
  description:
    'The session of the console. Requires the header `X-Turnkeep-Console: 1` and the same origin, and is ignored if `Authorization` is sent.',
} as const

export const adminDescription = (publicUrl: string | undefined): FastifyDynamicSwaggerOptions => ({
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Turnkeep Admin API',
      version: '1.0.0',
      description,
      contact,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl ?? '/' }],
    tags: Object.entries(tags).map(([name, said]) => ({ name, description: said })),
    components: {
      securitySchemes: {
        adminToken: { type: 'http', scheme: 'bearer', description: 'The admin token, or a token for programs.' },
        session,
      },
    },
    security: [{ adminToken: [] }, { session: [] }],
  },
  convertConstToEnum: false,
  stripBasePath: false,
  refResolver: refNames,
  transformObject: (documents) => {
    if (!('openapiObject' in documents)) throw new Error('the description is not of OpenAPI 3')
    nameValues(documents.openapiObject, (documents.openapiObject.components?.schemas ?? {}) as Schemas)
    return documents.openapiObject
  },
  transform: ({ schema, url, route }) => {
    const headers = headersOf[schema.operationId ?? '']
    const response = limited(
      route.config?.needs,
      naming({ ...describeFailures(...refusalsOf(schema, route.method)), ...(schema.response as object | undefined) }),
    )
    return { url, schema: { ...schema, response, ...(headers && { headers }), ...(schema.consumes && { body: documentBodies }) } }
  },
})

/**
 * Describes every route added to `app` after this call, and serves the description at /openapi.json. Returns a function that returns it
 * when the app is ready.
 */
export function describeAdminApi(app: FastifyInstance, publicUrl: string | undefined): () => Promise<Description> {
  for (const schema of [...adminSchemas, ...sharedSchemas]) app.addSchema(schema)
  const describe = describeLate(app, adminDescription(publicUrl))
  // Written once: anyone who is signed in may ask for it as often as they like.
  let file: Promise<ServedFile> | undefined
  const write = async (): Promise<ServedFile> => servedJson(JSON.stringify(await describe()))
  const describeOnce = (): Promise<ServedFile> =>
    (file ??= write().catch((error: unknown) => {
      file = undefined
      throw error
    }))
  app.get('/openapi.json', { schema: { hide: true } }, async (request, reply) =>
    sendFile(request, reply, await describeOnce(), { 'cache-control': 'private, no-cache' }),
  )
  return describe
}

const ofPrincipal = Object.fromEntries(
  Object.entries(rateLimitHeaders).map(([name, schema]) => [
    name,
    Type.Integer({
      ...schema,
      description: `${String((schema as { description?: string }).description)} Of the operator or token. Absent on streams, and if the request was refused before its sender was known.`,
    }),
  ]),
)

const param = Type.String({
  description:
    'The field of the request that the error is about, by its path, such as `price.prompt_usd_per_million` or `tools.0.url`, or the name of a parameter. Absent if it is about no field.',
  examples: ['price.prompt_usd_per_million'],
})
/** The codes of errors that may be about a field. */
const ofFields: readonly string[] = ['validation_error', 'conflict', 'forbidden'] satisfies FailureCode[]

type Response = { headers?: object; content?: { 'application/json'?: { schema: Envelope } } }
type Envelope = { properties?: { error?: { properties: { code: { enum: string[] } } } } }

/** `admin.param`: adds it to the envelopes of errors that may have it. */
const naming = (responses: Record<string, Response>): Record<string, Response> =>
  Object.fromEntries(
    Object.entries(responses).map(([status, one]) => {
      const json = one.content?.['application/json']
      const error = Number(status) < 400 ? undefined : json?.schema.properties?.error
      if (!error?.properties.code.enum.some((code) => ofFields.includes(code))) return [status, one]
      const schema = { ...json!.schema, properties: { error: { ...error, properties: { ...error.properties, param } } } }
      return [status, { ...one, content: { 'application/json': { ...json, schema } } }]
    }),
  )

/** `admin.limits`: any response to a principal has these headers. */
const limited = (needs: unknown, responses: Record<string, Response>): Record<string, Response> =>
  needs === 'open'
    ? responses
    : Object.fromEntries(
        Object.entries(responses).map(([status, one]) => [status, { ...one, headers: { ...one.headers, ...ofPrincipal } }]),
      )

/** What a request with these parts can be refused with, so that no route has to say it. A body is read and checked also where none is expected. */
const refusalsOf = ({ params, querystring }: FastifySchema, method: string | string[]): FailureCode[] => {
  const readsBody = method !== 'GET'
  return [
    ...(readsBody ? (['payload_too_large'] as const) : []),
    ...(readsBody || params || querystring ? (['validation_error'] as const) : []),
  ]
}

type Schemas = Record<string, { properties: Record<string, { const: string }> }>
type Selection = { discriminator?: { propertyName: string; mapping?: Record<string, string> }; oneOf?: { $ref: string }[] }

/**
 * Adds to each discriminator which value selects which schema. Without it, a reader of the description expects the names of the schemas as
 * values. The validator does not accept it in a route.
 */
function nameValues(node: unknown, schemas: Schemas): void {
  if (typeof node !== 'object' || node === null) return
  for (const inner of Object.values(node)) nameValues(inner, schemas)
  const { discriminator, oneOf } = node as Selection
  if (typeof discriminator?.propertyName !== 'string' || !oneOf) return
  const { propertyName } = discriminator
  const named = oneOf.map(({ $ref }) => [schemas[$ref.split('/').at(-1)!]!.properties[propertyName]!.const, $ref] as const)
  discriminator.mapping = Object.fromEntries(named)
}
