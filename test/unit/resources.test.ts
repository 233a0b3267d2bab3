/** What follows from the declaration of a resource: types are checked by the compiler, and here what only a run shows. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shapeOf } from '../../src/cli/apply/shape-of.ts'
import { answerProperties, changeProperties, exampleOf, newProperties, readChange, readNew, writerOf } from '../../src/http/admin/wire.ts'
import { adminTokenFields } from '../../src/resources/admin-token.ts'
import { agentFields, readSettings, writeSettings } from '../../src/resources/agent.ts'
import type { AgentSettings } from '../../src/resources/agent.ts'
import { apiKeyFields } from '../../src/resources/api-key.ts'
import { deliveryFields } from '../../src/resources/delivery.ts'
import {
  changedBy,
  fits,
  flag,
  grouped,
  id,
  initialOf,
  list,
  nameOf,
  number,
  one,
  orNull,
  partsOf,
  text,
  time,
  whole,
} from '../../src/resources/field.ts'
import type { Fields } from '../../src/resources/field.ts'
import { ownerFields } from '../../src/resources/owner.ts'
import { webhookFields } from '../../src/resources/webhook.ts'
import { insertRow, rowReader, updateRow } from '../../src/store/queries/rows.ts'
import type { Row, Sql, SqlValue } from '../../src/store/sql.ts'

const declared: Record<string, Fields> = {
  agent: agentFields,
  'API key': apiKeyFields,
  delivery: deliveryFields,
  owner: ownerFields,
  token: adminTokenFields,
  webhook: webhookFields,
}

const thing = {
  id: { kind: id('thg'), example: 'thg_1' },
  title: { kind: text(1, 20), create: 'required', change: true, example: 'One' },
  isOpen: { kind: flag, create: 'optional', change: true, initial: true, example: false },
  words: { kind: list(one('a', 'b'), 1, 2), create: 'optional', change: true, initial: ['a'], example: ['b'] },
  'window.seconds': { kind: whole(1, 9), create: 'optional', change: true, together: true, initial: 5, example: 5 },
  'window.share': { kind: orNull(number(0, 1)), create: 'optional', change: true, together: true, initial: null, example: 0.5 },
  endedAt: { kind: orNull(time), column: 'end_ms', example: null },
  level: { kind: orNull(whole(0, 9)), column: null, create: 'optional', initial: 3, example: null },
} as const satisfies Fields

/** Keeps what is run. */
function recorder(): { sql: Sql; ran: { text: string; values: SqlValue[] }[] } {
  const ran: { text: string; values: SqlValue[] }[] = []
  const sql: Sql = {
    all: async () => [],
    run: async (written, ...values) => (ran.push({ text: written, values }), 1),
    now: async () => 0,
    engine: 'sqlite',
  }
  return { sql, ran }
}

describe('resources', () => {
  for (const [noun, fields] of Object.entries(declared)) {
    test(`${noun}: each example and each initial value is of the kind of its field, as inside the service or as JSON`, () => {
      for (const [name, { kind, example, initial }] of Object.entries(fields)) {
        const { of } = kind.of === 'null' ? kind.or : kind
        if (of === 'usd') assert.match(String(example), /^\d+\.\d{8}$/, name)
        else if (of === 'time' && typeof example === 'string') assert.ok(!Number.isNaN(Date.parse(example)), name)
        else assert.ok(fits(kind, example), name)
        if (initial !== undefined) assert.ok(fits(kind, initial), name)
      }
    })

    test(`${noun}: a field that requests may leave out has an initial value`, () => {
      const without = Object.entries(fields).filter(([, { create, initial }]) => create === 'optional' && initial === undefined)
      assert.deepEqual(without, [])
    })

    test(`${noun}: requests and responses have each field under one name`, () => {
      const names = Object.entries(fields).map(([name, field]) => partsOf(nameOf(name, field))[0])
      assert.deepEqual(Object.keys(answerProperties(fields)), [...new Set(names)])
      for (const name of [...Object.keys(newProperties(fields)), ...Object.keys(changeProperties(fields))])
        assert.ok(names.includes(name), name)
    })
  }

  test('a row is read and written by its columns, without computed fields', async () => {
    const row: Row = { id: 'thg_1', title: 'x', is_open: 0n, words: '["b"]', window_seconds: 3n, window_share: 0.25, end_ms: null }
    const values = rowReader(thing)(row)
    assert.deepEqual(values, { id: 'thg_1', title: 'x', isOpen: false, words: ['b'], window: { seconds: 3, share: 0.25 }, endedAt: null })
    const { sql, ran } = recorder()
    await insertRow(sql, 'things', thing, values, { more: 1 })
    assert.deepEqual(ran.pop(), {
      text: 'insert into things (id, title, is_open, words, window_seconds, window_share, end_ms, more) values ($1, $2, $3, $4, $5, $6, $7, $8)',
      values: ['thg_1', 'x', 0, '["b"]', 3, 0.25, null, 1],
    })
    await updateRow(sql, 'things', thing, 'thg_1', { title: 'y', window: { share: null } })
    assert.deepEqual(ran.pop(), { text: 'update things set title = $2, window_share = $3 where id = $1', values: ['thg_1', 'y', null] })
    assert.throws(() => rowReader(thing)({ ...row, title: 7 }), /column title holds a number/)
  })

  test('a body is read with the initial values of what is absent, and a change without', () => {
    assert.deepEqual(readNew(thing, { title: 'x' }), {
      title: 'x',
      isOpen: true,
      words: ['a'],
      window: { seconds: 5, share: null },
      level: 3,
    })
    assert.equal(readNew(thing, { title: 'x', level: null }).level, null)
    assert.deepEqual(readNew(thing, { title: 'x', is_open: false, window: { seconds: 2, share: null } }).window, {
      seconds: 2,
      share: null,
    })
    assert.deepEqual(readChange(thing, {}), {})
    assert.deepEqual(readChange(thing, { is_open: false, window: { seconds: 2, share: null } }), {
      isOpen: false,
      window: { seconds: 2, share: null },
    })
  })

  test('JSON has times as texts and groups as objects', () => {
    const written = writerOf(thing)({ ...readNew(thing, { title: 'x' }), id: 'thg_1', endedAt: 0, level: null })
    assert.deepEqual(written, {
      id: 'thg_1',
      title: 'x',
      is_open: true,
      words: ['a'],
      window: { seconds: 5, share: null },
      ended_at: '1970-01-01T00:00:00.000Z',
      level: null,
    })
    assert.deepEqual(exampleOf(thing).window, { seconds: 5, share: 0.5 })
  })

  test('a group is optional, and its fields are required together where the declaration says so', () => {
    const { window } = changeProperties(thing)
    assert.deepEqual((window as { required?: string[] }).required, ['seconds', 'share'])
    assert.equal((changeProperties(agentFields).history as { required?: string[] }).required, undefined)
    assert.equal(shapeOf(thing, 'create').title.required, true)
    assert.equal(shapeOf(thing, 'change').title.required, false)
  })

  test('a version keeps its settings: columns and JSON have each of them once', () => {
    const settings = changedBy(agentFields, initialOf(agentFields) as AgentSettings, {
      name: 'n',
      systemPrompt: 's',
      model: 'a/b',
      knowledge: { topK: 3 },
      history: { maxTokens: 0 },
    })
    assert.equal(settings.knowledge.maxTokens, 1500)
    const { columns, rest } = writeSettings(settings)
    assert.equal(Object.keys(columns).length + Object.keys(rest).length, Object.keys(agentFields).length)
    assert.deepEqual(readSettings(columns, JSON.parse(JSON.stringify(rest)) as Record<string, unknown>), settings)
    // From before the field existed.
    const { maxToolCalls: _, ...older } = rest
    assert.equal(readSettings(columns, older)?.maxToolCalls, 16)
    assert.equal(readSettings(columns, { ...rest, maxSteps: '8' }), undefined)
  })

  test('the values of a group are kept together, whatever is between them', () => {
    assert.deepEqual(
      grouped([
        ['a.one', 1],
        ['b', 2],
        ['a.two', 3],
      ]),
      { a: { one: 1, two: 3 }, b: 2 },
    )
  })
})
