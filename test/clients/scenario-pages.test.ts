/**
 * clients/scenarios.json matches its schema, clients/README.md names every field of it, and its table has a passed run of each scenario and
 * client.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { drivers } from './drivers.ts'
import { readLine, readScenarios, schema } from './scenario-file.ts'
import { readTable } from './scenario-table.ts'

const page = readFileSync(new URL('../../clients/README.md', import.meta.url), 'utf8')

void test('clients: the scenarios match the schema, and no two have one name', () => {
  const names = readScenarios().map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
})

void test('clients: a line outside the protocol is refused', () => {
  assert.deepEqual(readLine('{"event":"delta","delta":"Hi"}'), { event: 'delta', delta: 'Hi' })
  for (const line of ['{"event":"delta"}', '{"event":"say"}', '{"event":"error","kind":"APIError"}', 'Hi'])
    assert.throws(() => readLine(line), Error, line)
})

void test('clients: the page names every field of the schema, and every value that a field may have', () => {
  const missing = [...new Set(wordsOf(schema))].filter((word) => !page.includes(`\`${word}\``) && !page.includes(`"${word}"`))
  assert.deepEqual(missing, [])
})

void test('clients: the table names every scenario and every client, in their order, and all passed', () => {
  const { clients, rows } = readTable(page)
  assert.deepEqual(
    clients,
    drivers.map(({ name }) => name),
  )
  assert.deepEqual(
    rows.map(({ scenario }) => scenario),
    readScenarios().map(({ name }) => name),
    'node test/clients/run-scenarios.ts --write',
  )
  for (const { scenario, cells } of rows)
    for (const cell of cells) assert.match(cell, /^passed, \d+ requests?, \d+\.\d s$/, `${scenario}: run it, and update the table`)
})

/** Names of properties and constant texts, wherever they are. */
function wordsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    if (name === 'properties') return [...Object.keys(inner as object).filter((one) => one !== '$schema'), ...wordsOf(inner)]
    if (name === 'enum') return inner as string[]
    if (name === 'const' && typeof inner === 'string') return [inner]
    return wordsOf(inner)
  })
}
