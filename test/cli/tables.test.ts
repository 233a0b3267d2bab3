/** Tables on a terminal fit its width: texts are shortened, rows continue on further lines, and IDs stay complete. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import widthOf from 'string-width'
import { Table, terminalWidth } from '../../src/cli/terminal/table.ts'
import type { Column } from '../../src/cli/terminal/table.ts'
import { runProgram } from '../../src/cli/program.ts'
import { runCommand, startTestRun } from '../support/run-command.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'
import { openTerminal, withoutTerminal } from './terminal-session.ts'

const id = 'own_01jd3v9qk8x2m5n7p4r6t8w0ya'
const columns: Column[] = [
  { title: 'id', path: 'id', as: 'id' },
  { title: 'amount $', path: 'usd', as: 'usd' },
  { title: 'name', path: 'name' },
]

describe('a table with a maximum width', () => {
  test('shortens the widest text, by display width, and never an ID or an amount', () => {
    const rows = [
      { id, usd: '1234567.12345678', name: 'x'.repeat(200) },
      { id, usd: '1.00', name: '日本'.repeat(50) },
    ]
    const lines = new Table(columns, 80).lines(rows)
    assert.equal(lines.length, 3)
    for (const line of lines) assert.ok(widthOf(line) <= 80, line)
    for (const line of lines.slice(1)) assert.ok(line.startsWith(id) && line.endsWith('…'), line)
    assert.ok(lines[1]!.includes('1234567.12345678'))
    assert.deepEqual(
      new Table(columns).lines(rows).map((line) => line.includes('…')),
      [false, false, false],
    )
  })

  test('continues rows and headings on indented lines if the columns do not fit, and later batches have the same layout', () => {
    const wide: Column[] = [...columns, { title: 'other', path: 'other', as: 'id' }, { title: 'more', path: 'more', as: 'time' }]
    const row = { id, usd: '1.00', name: 'A long name of an owner', other: id, more: '2026-11-21T12:00:00.000Z' }
    const table = new Table(wide, 60)
    const first = table.lines([row])
    assert.deepEqual(first, [
      'id                              amount $',
      '  name                     other',
      '  more',
      `${id}      1.00`,
      `  A long name of an owner  ${id}`,
      '  2026-11-21 12:00:00',
    ])
    assert.deepEqual(table.lines([{ ...row, name: 'B' }]), [`${id}      1.00`, `  B                        ${id}`, '  2026-11-21 12:00:00'])
  })

  test('an ID that is wider than the terminal stays complete', () => {
    assert.ok(new Table(columns, 10).lines([{ id, usd: '1.00', name: 'n' }]).some((line) => line.trim() === id))
  })
})

test('a table is shown at a terminal of any width, and complete if the terminal does not know its size', () => {
  for (let width = 1; width < 60; width++) {
    const lines = new Table(columns, width).lines([{ id, usd: '1.00', name: 'A long name of an owner' }])
    assert.ok(lines.some((line) => line.trim() === id) || lines.some((line) => line.startsWith(id)), String(width))
  }
  // A serial console, or a terminal in a container, may report no size at all.
  assert.equal(terminalWidth({ stdout: { isTTY: true, columns: 0 } }), undefined)
})

describe('the lists at a terminal of 80 columns', () => {
  let app: TestApp
  before(async () => {
    app = await startTestApp()
    await app.made('POST', '/owners', { name: 'A company with a name that does not fit into a terminal of eighty columns' })
    await app.chat('hello there', { user: 'ann' })
  })
  after(() => app.close())

  test('no line of any list is wider, and without a terminal every cell is complete', async () => {
    const environment = { TURNKEEP_PUBLIC_URL: app.url, TURNKEEP_ADMIN_TOKEN: adminToken }
    for (const args of [
      ['owner', 'list'],
      ['agent', 'list'],
      ['agent', 'versions', app.caller.agentId],
      ['key', 'list', app.caller.agentId],
      ['provider', 'list'],
      ['ledger', 'list', app.caller.ownerId],
      ['conversation', 'list'],
      ['turn', 'list'],
      ['audit'],
      ['usage'],
    ]) {
      const screen = await shownAtTerminal(args, environment)
      for (const line of screen.split('\n')) assert.ok(widthOf(line) <= 80, `${args.join(' ')}: ${line}`)
      const { stdout } = await runCommand(args, environment)
      const ids = stdout.match(/\b(own|agt|key|prv|led|conv)_[0-9a-z]{26}\b/g) ?? []
      for (const one of ids) assert.ok(screen.includes(one), `${args.join(' ')}: ${one}`)
      if (args[0] === 'owner') assert.match(stdout, /A company with a name that does not fit into a terminal of eighty columns\n/)
    }
  })

  test('a real terminal shows the same', { skip: withoutTerminal }, async () => {
    const environment = { TURNKEEP_PUBLIC_URL: app.url, TURNKEEP_ADMIN_TOKEN: adminToken }
    const terminal = openTerminal(['owner', 'list'], environment)
    assert.equal(await terminal.ended, 0, terminal.screen)
    assert.equal(terminal.screen, await shownAtTerminal(['owner', 'list'], environment))
  })
})

/** What a command prints in this process if stdout is a terminal, without the escapes for bold text. */
async function shownAtTerminal(args: string[], environment: Record<string, string>): Promise<string> {
  const run = startTestRun(environment)
  Object.assign(run.stdout, { isTTY: true, columns: 80, hasColors: () => true })
  assert.equal(await runProgram(args, run), 0, run.stderr.text)
  assert.notEqual(stripVTControlCharacters(run.stdout.text), run.stdout.text, 'the headings are bold')
  return stripVTControlCharacters(run.stdout.text)
}
