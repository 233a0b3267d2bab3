/** The description of the admin API refers to shared components: it is small, and says what it would say without them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminDescription } from '../../src/http/admin/openapi.ts'
import { adminRoutes } from '../../src/http/admin/routes.ts'
import { sharedSchemas } from '../../src/http/admin/shared-schemas.ts'
import { describeLate } from '../../src/http/edge/late-description.ts'
import { adminRoutesOptions, describeBoth, idleLayer } from '../support/answer-check-descriptions.ts'
import { dereferenced } from '../support/dereferenced.ts'
import type { Json } from '../support/test-app.ts'

// Written out, it has 2.2 MB, which few tools can show.
const maxBytes = 350_000
const { admin } = await describeBoth()
const sharedNames = new Set(sharedSchemas.map(({ $id }) => $id))

/** The description without shared components. */
async function describeWhole(): Promise<Json> {
  const layer = idleLayer()
  const describe = describeLate(layer, adminDescription(undefined), () => undefined)
  await layer.register(adminRoutes, adminRoutesOptions)
  await layer.ready()
  const whole = JSON.parse(JSON.stringify(await describe())) as Json
  await layer.close()
  // The routes of all other paths, which only respond with errors. They are not part of the API.
  const { '/admin/v1/': _, '/admin/v1/{*}': __, ...paths } = whole['paths']
  return { ...whole, paths }
}

void test(`openapi: the description of the admin API has at most ${maxBytes} bytes`, () => {
  const bytes = Buffer.byteLength(JSON.stringify(admin))
  assert.ok(bytes <= maxBytes, `${bytes} bytes: name what is repeated in src/http/admin/shared-schemas.ts`)
})

void test('openapi: with its references resolved, the description of the admin API is the one without shared components', async () => {
  const whole = dereferenced(await describeWhole())
  const shared = dereferenced(admin)
  assert.deepEqual(Object.keys(shared['paths']), Object.keys(whole['paths']))
  for (const [path, operations] of Object.entries(whole['paths'])) assert.deepEqual(shared['paths'][path], operations, path)
  for (const [name, schema] of Object.entries(whole['components'].schemas))
    assert.deepEqual(shared['components'].schemas[name], schema, name)
  for (const name of ['openapi', 'info', 'servers', 'tags', 'security']) assert.deepEqual(shared[name], whole[name], name)
  assert.deepEqual(shared['components'].securitySchemes, whole['components'].securitySchemes)
})

void test('openapi: every component that exists to be shared is used more than once', () => {
  const text = JSON.stringify(admin)
  const { securitySchemes: _, schemas, ...others } = admin['components'] as Record<string, Json>
  const named = { ...others, schemas: Object.fromEntries(Object.entries(schemas!).filter(([name]) => sharedNames.has(name))) }
  for (const [kind, components] of Object.entries(named))
    for (const name of Object.keys(components)) assert.ok(text.split(`"#/components/${kind}/${name}"`).length > 2, `${kind}/${name}`)
})
