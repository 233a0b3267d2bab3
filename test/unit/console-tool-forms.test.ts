/** The forms of a tool in the console: parameters as rows lose nothing of a schema, and authentication is recognized by names. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { choose, headersToSend, recognize } from '../../packages/console/src/pages/agents/tools/auth-presets.ts'
import { newRow, problemsOfRows, readRows, writeRows } from '../../packages/console/src/pages/agents/tools/parameter-rows.ts'
import type { ParameterRow } from '../../packages/console/src/pages/agents/tools/parameter-rows.ts'
import { rowsOf } from '../../packages/console/src/pages/agents/tools/text-rows.ts'

type Schema = Record<string, unknown>

const whole: Schema = {
  $comment: 'kept',
  required: ['order', 'kind'],
  type: 'object',
  properties: {
    order: { pattern: '^A-', description: 'Its number.', type: 'string', minLength: 3 },
    kind: { enum: ['open', 'closed'] },
    state: { type: 'string', enum: ['a'], default: 'a' },
    count: { type: 'integer', minimum: 1, description: '' },
    price: { type: 'number' },
    gift: { type: 'boolean' },
    tags: { type: 'array', maxItems: 3, items: { type: 'string', maxLength: 9 } },
  },
  additionalProperties: false,
}

function rowsIn(schema: Schema): ParameterRow[] {
  const read = readRows(schema)
  assert.ok('rows' in read, 'reason' in read ? read.reason : '')
  return read.rows
}

void test('console tools: a schema that the form shows is the same text after it was read and written', () => {
  for (const schema of [whole, { type: 'object' }, { type: 'object', properties: {}, required: [] }])
    assert.equal(JSON.stringify(writeRows(schema, rowsIn(schema))), JSON.stringify(schema))
})

void test('console tools: a changed row keeps its other keywords, and the other rows stay as they are', () => {
  const rows = rowsIn(whole).map((row): ParameterRow => {
    if (row.name === 'order') return { ...row, name: 'number', description: 'Printed.', required: false }
    return row.name === 'state' ? { ...row, type: 'array', itemType: 'integer', required: true } : row
  })
  const { properties, ...rest } = writeRows(whole, [...rows.filter(({ name }) => name !== 'gift'), { ...newRow(9), name: 'added' }])
  const { order: _, gift: __, ...others } = whole['properties'] as Schema
  assert.deepEqual(properties, {
    number: { pattern: '^A-', description: 'Printed.', type: 'string', minLength: 3 },
    ...others,
    state: { type: 'array', default: 'a', items: { type: 'integer' } },
    added: { type: 'string' },
  })
  assert.deepEqual(rest, { $comment: 'kept', required: ['kind', 'state', 'added'], type: 'object', additionalProperties: false })
})

const unshown: [Schema, RegExp][] = [
  [{ type: 'array' }, /type object/],
  [{ type: 'object', required: ['x'] }, /does not describe/],
  [{ type: 'object', properties: { x: true } }, /parameter x: its schema is not an object/],
  [{ type: 'object', properties: { x: { type: 'object' } } }, /parameter x: it is an object/],
  [{ type: 'object', properties: { x: { type: ['string', 'null'] } } }, /several types/],
  [{ type: 'object', properties: { x: { anyOf: [] } } }, /no type/],
  [{ type: 'object', properties: { x: { enum: [1] } } }, /not text/],
  [{ type: 'object', properties: { x: { type: 'array', items: { type: 'object' } } } }, /list of something other/],
]
for (const [schema, words] of unshown)
  void test(`console tools: the form says why it cannot show ${JSON.stringify(schema)}`, () => {
    const read = readRows(schema)
    assert.match('reason' in read ? read.reason : 'it shows it', words)
  })

void test('console tools: rows without a name, with a name twice and without values are marked', () => {
  const rows = [newRow(0), { ...newRow(1), name: 'a' }, { ...newRow(2), name: 'a' }, { ...newRow(3), name: 'b', type: 'enum' as const }]
  assert.deepEqual([...problemsOfRows(rows).keys()], [0, 1, 2, 3])
  assert.deepEqual(problemsOfRows([{ ...newRow(1), name: 'a' }]).size, 0)
})

const recognized: [string, string[], string[] | null, string][] = [
  ['nothing', [], [], 'none'],
  ['a bearer token', ['Authorization'], ['bearer_token'], 'bearer'],
  ['basic credentials', ['authorization'], ['basic_credentials'], 'basic'],
  ['a key in a header', ['x-shop-key'], ['shop_key'], 'header'],
  ['a secret of another name', ['Authorization'], ['token'], 'custom'],
  ['two headers', ['a', 'b'], ['c'], 'custom'],
  ['a key of an MCP server', ['X-API-Key'], null, 'header'],
  ['a stored Authorization of an MCP server, which may be any', ['Authorization'], null, 'custom'],
]
for (const [what, headers, secrets, kind] of recognized)
  void test(`console tools: authentication by ${what} is recognized`, () => {
    assert.equal(recognize({ headers: rowsOf(headers), secrets: secrets && rowsOf(secrets) }), kind)
  })

void test('console tools: another way to authenticate replaces the rows of the previous one and keeps the others', () => {
  const before = { headers: rowsOf(['Authorization', 'X-Shop']), secrets: rowsOf(['bearer_token', 'shop']) }
  const { headers, secrets } = choose('header', 'bearer', before)
  assert.deepEqual(
    [headers.map(({ name, value }) => [name, value]), secrets?.map(({ name }) => name)],
    [
      [
        ['X-API-Key', '{api_key}'],
        ['X-Shop', ''],
      ],
      ['api_key', 'shop'],
    ],
  )
  assert.deepEqual(choose('none', 'bearer', before), { headers: [], secrets: [] })
  assert.equal(choose('custom', 'bearer', before), before)
  // Moved to another server: only the secret is entered again.
  assert.deepEqual(
    headersToSend(before, true).map(({ value }) => value),
    ['Bearer {bearer_token}', ''],
  )
  assert.equal(headersToSend(before, false), before.headers)
})
