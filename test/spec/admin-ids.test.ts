/** IDs in the paths of the admin API that no database can store: the same error on every store, and never 500. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

const app = await startTestApp()
after(() => app.close())

void test('text.well-formed: an ID with U+0000 in the path is 404 on every route', async () => {
  const { paths } = await app.made('GET', '/openapi.json')
  let asked = 0
  for (const [path, methods] of Object.entries(paths as Json)) {
    if (!path.includes('{')) continue
    for (const method of Object.keys(methods as Json)) {
      const url = path.slice('/admin/v1'.length).replaceAll(/\{\w+\}/g, 'x%00')
      const { status, json } = await app.admin(method.toUpperCase(), url)
      assert.equal(status, 404, `${method} ${path}: ${JSON.stringify(json)}`)
      asked++
    }
  }
  assert.ok(asked > 50, `${asked} routes`)
})
