/** `turnkeep apply` accepts the same fields of an agent, a key and a provider as the admin API, with the same bounds of numbers. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { LineCounter, parseDocument } from 'yaml'
import { Problems } from '../../src/cli/apply/problems.ts'
import { resolve, sourceOf } from '../../src/cli/apply/readers.ts'
import { agentFields, keyFields, ownerFields, providerFields, root, webhookFields } from '../../src/cli/apply/shapes.ts'
import { dereferenced } from '../support/dereferenced.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

let app: TestApp
let paths: Json
before(async () => {
  app = await startTestApp()
  paths = dereferenced(await app.made('GET', '/openapi.json'))['paths']
})
after(() => app.close())

const bodyOf = (path: string, method: string): Json => paths[path][method].requestBody.content['application/json'].schema.properties

/** Whether a declaration of one agent (JSON is YAML too) is read without a problem. */
function isTaken(agent: Json): boolean {
  const [problems, lines] = [new Problems(), new LineCounter()]
  const written = JSON.stringify({ owners: [{ name: 'o', agents: [{ name: 'a', ...agent }] }] })
  const document = parseDocument(written, { lineCounter: lines })
  const source = sourceOf({ file: 'f', folder: '.', document, lines, problems })
  return root(resolve({ node: document.contents, place: { file: 'f', line: 1, column: 1 }, name: 'f', source, depth: 0 })) !== undefined
}

test('the fields are those of the API', () => {
  const own = (fields: object, ...others: string[]): string[] =>
    Object.keys(fields)
      .filter((name) => !others.includes(name))
      .toSorted()
  assert.deepEqual(own(agentFields), own(bodyOf('/admin/v1/agents/{id}', 'patch')))
  const ofOwner = { ...bodyOf('/admin/v1/owners', 'post'), ...bodyOf('/admin/v1/owners/{id}', 'patch') }
  assert.deepEqual(own(ownerFields, 'id'), own(ofOwner))
  assert.deepEqual(own(keyFields, 'id', 'secret_file'), own(bodyOf('/admin/v1/agents/{id}/keys', 'post')))
  assert.deepEqual(
    own(webhookFields, 'id', 'secret_file', 'owner', 'agent'),
    own(bodyOf('/admin/v1/webhooks', 'post'), 'owner_id', 'agent_id'),
  )
  assert.deepEqual(own(providerFields, 'id', 'api_key_env'), own(bodyOf('/admin/v1/providers', 'post'), 'api_key'))
})

test('every number of an agent has the bounds of the API', () => {
  const bounds: [string, string | undefined, number, number][] = []
  const agent = bodyOf('/admin/v1/agents/{id}', 'patch')
  const collect = (name: string, group: string | undefined, schema: Json): void => {
    const { minimum, maximum } = schema.anyOf?.[0] ?? schema
    if (minimum !== undefined) bounds.push([name, group, minimum, maximum])
  }
  for (const [name, schema] of Object.entries<Json>(agent)) {
    collect(name, undefined, schema)
    for (const [field, inner] of Object.entries<Json>(schema.properties ?? {})) collect(field, name, inner)
  }
  assert.equal(bounds.length, 8)
  for (const [name, group, minimum, maximum] of bounds) {
    const taken = (value: number): boolean => isTaken(group === undefined ? { [name]: value } : { [group]: { [name]: value } })
    assert.deepEqual([minimum - 1, minimum, maximum, maximum + 1].map(taken), [false, true, true, false], `${group}.${name}`)
  }
})

test('every text of an agent has the maximum length of the API', () => {
  const { name, system_prompt: prompt } = bodyOf('/admin/v1/agents/{id}', 'patch')
  for (const [field, schema] of [
    ['name', name],
    ['system_prompt', prompt],
  ] as const) {
    const taken = (length: number): boolean => isTaken({ [field]: '😀'.repeat(length) })
    assert.deepEqual([taken(schema.maxLength), taken(schema.maxLength + 1)], [true, false], field)
  }
})

test('a rate limit has both of its fields, as in the API', () => {
  const taken = (rate_limit: Json): boolean => isTaken({ keys: [{ name: 'k', rate_limit }] })
  assert.deepEqual([taken({ limit: 7, window_seconds: 30 }), taken({ limit: 7 }), taken({ window_seconds: 30 })], [true, false, false])
})
