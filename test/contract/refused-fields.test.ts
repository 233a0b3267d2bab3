/**
 * Every write of the admin API names the field that it refuses: one wrong value for each field of each request, derived from the description,
 * and each required field once left out. What a field is refused for by the modules behind the schemas is in test/spec/admin-param.test.ts.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { dereferenced } from '../support/dereferenced.ts'
import { adminToken, read, startTestApp } from '../support/test-app.ts'
import type { Answer, Json } from '../support/test-app.ts'

const app = await startTestApp()
after(() => app.close())
const description: Json = dereferenced(await app.made('GET', '/openapi.json'))

type Write = { method: string; path: string; operation: Json }
const writes = Object.entries<Json>(description['paths']).flatMap(([path, item]): Write[] =>
  Object.entries<Json>(item)
    .filter(([method]) => method !== 'get')
    .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)

/** A field of a request: where it is, and whether it may be left out. `variant` is a body in which it exists. */
type Field = { path: (string | number)[]; schema: Json; isRequired: boolean; variant: unknown }

/** Without null, which many fields accept. */
function plain(schema: Json): Json {
  const [first] = formsOf(schema)
  return first ? plain(first) : schema
}

const formsOf = (schema: Json): Json[] => (schema['anyOf'] ?? []).filter(({ type }: Json) => type !== 'null')

/** A value that fits the schema, with every field that may be left out. */
function sampleOf(given: Json): unknown {
  const schema = plain(given)
  if ('const' in schema) return schema['const']
  if (schema['enum']) return schema['enum'][0]
  if (schema['oneOf']) return sampleOf(schema['oneOf'][0])
  switch (schema['type']) {
    case 'object':
      return Object.fromEntries(Object.entries<Json>(schema['properties'] ?? {}).map(([name, inner]) => [name, sampleOf(inner)]))
    case 'array':
      return [sampleOf(schema['items'])]
    case 'string':
      // Fits the pattern of a model and every other one.
      return schema['pattern']?.includes('/') ? 'scripted/x' : 'x'.repeat(schema['minLength'] ?? 1)
    case 'boolean':
      return true
    default:
      return schema['minimum'] ?? 1
  }
}

/** `put` returns the whole body with this value in place of the one that the field is in. */
function* fieldsOf(given: Json, path: (string | number)[], put: (value: unknown) => unknown): Generator<Field> {
  if (formsOf(given).length > 1) return yield* formsOf(given).flatMap((one) => [...fieldsOf(one, path, put)])
  const schema = plain(given)
  if (schema['oneOf']) return yield* schema['oneOf'].flatMap((one: Json) => [...fieldsOf(one, path, put)])
  if (schema['type'] === 'array') {
    const item = plain(schema['items'])
    const only = (value: unknown): unknown => put([value])
    // The name of the kind is checked before the rest of the item.
    if (!item['oneOf']) yield { path: [...path, 0], schema: item, isRequired: false, variant: only(sampleOf(item)) }
    return yield* fieldsOf(item, [...path, 0], only)
  }
  if (schema['type'] !== 'object') return
  const sample = sampleOf(schema) as Json
  for (const [name, inner] of Object.entries<Json>(schema['properties'] ?? {})) {
    const isRequired = (schema['required'] ?? []).includes(name)
    yield { path: [...path, name], schema: plain(inner), isRequired, variant: put(sample) }
    yield* fieldsOf(inner, [...path, name], (value) => put({ ...sample, [name]: value }))
  }
}

function changed(body: unknown, path: (string | number)[], value: unknown): unknown {
  const copy = structuredClone(body) as Json
  const inner = path.slice(0, -1).reduce<Json>((at, name) => at[name], copy)
  if (value === undefined) delete inner[path.at(-1)!]
  else inner[path.at(-1)!] = value
  return copy
}

/** Of another type than the schema wants. */
const otherType = ({ type }: Json): unknown => (type === 'object' || type === 'array' ? 7 : {})

const { agentId, ownerId } = app.caller
const ids: Record<string, string> = { owners: ownerId, agents: agentId }

type Sent = { query?: string; id?: string; headers?: Record<string, string> }

async function send({ method, path }: Write, body: unknown, { query = '', id, headers: more = {} }: Sent = {}): Promise<Answer> {
  const noun = path.split('/')[3]!
  const at = path.replace(/\{\w+\}/g, id ?? ids[noun] ?? 'x')
  const headers = { authorization: `Bearer ${adminToken}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...more }
  return read(
    await fetch(`${app.adminUrl}${at}${query}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
  )
}

function names(answer: Answer, field: string, what: string): void {
  const { error } = answer.json
  assert.deepEqual([answer.status, error?.code, error?.param], [422, 'validation_error', field], `${what}: ${answer.text}`)
}

/** The fields that are refused in another way, and why. */
const exceptions: Record<string, string> = {
  'signIn without email': 'the body is a token, or an email address and a password: what is missing is the token',
  'signIn without password': 'as without email',
}

const bodyOf = ({ operation }: Write): Json | undefined => operation['requestBody']?.content['application/json']?.schema
const unused = new Set(Object.keys(exceptions))
const isException = (name: string): boolean => {
  unused.delete(name)
  return name in exceptions
}

void test('admin.param: every field of every write is named if its value has another type, and if it is missing', async () => {
  let count = 0
  for (const write of writes) {
    const schema = bodyOf(write)
    if (!schema) continue
    const { operationId: id } = write.operation
    for (const { path, schema: field, isRequired, variant } of fieldsOf(schema, [], (body) => body)) {
      const name = path.join('.')
      // Any JSON value fits a schema without a type.
      if (field['type'] !== undefined || field['enum'] || field['oneOf'])
        if (!isException(`${id} ${name}`)) names(await send(write, changed(variant, path, otherType(field))), name, `${id} ${name}`)
      if (isRequired && !isException(`${id} without ${name}`))
        names(await send(write, changed(variant, path, undefined)), name, `${id} without ${name}`)
      count++
    }
  }
  assert.ok(count > 150, `${count} fields`)
})

void test('admin.param: every parameter of every write is named if it is too long', async () => {
  let count = 0
  for (const write of writes)
    for (const { in: place, name, schema } of (write.operation['parameters'] ?? []) as Json[]) {
      const long = 'x'.repeat(schema.maxLength + 1)
      const sent = place === 'header' ? { headers: { [name]: long } } : place === 'query' ? { query: `?${name}=${long}` } : { id: long }
      // The body is read after the path and the query, and before the headers that a route reads.
      const body = bodyOf(write) && (place === 'header' ? sampleOf(bodyOf(write)!) : {})
      names(await send(write, body, sent), firstIn(write, name), `${write.operation['operationId']} ${name}`)
      count++
    }
  assert.ok(count > 30, `${count} parameters`)
})

/** All parts of the path get the same value, so that the first one is named. */
const firstIn = ({ path }: Write, name: string): string => (path.includes(`{${name}}`) ? /\{(\w+)\}/.exec(path)![1]! : name)

void test('admin.param: every exception is one', () => assert.deepEqual([...unused], []))
