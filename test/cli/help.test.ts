/** The help of every command: what it does, an example, each flag, its exit codes; docs/operate/commands.md names every command. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Command } from 'commander'
import { buildProgram } from '../../src/cli/program.ts'
import { runCommand, startTestRun } from '../support/run-command.ts'

const program = await buildProgram(startTestRun({}), () => true)
const helpWidth = 80

/** With its command group, such as `owner create`. */
const pathOf = (command: Command): string => (command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name())
const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)]
const commands = everyCommand(program).slice(1)
const leaves = commands.filter((command) => command.commands.length === 0)

function helpOf(command: Command): string {
  let help = ''
  command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => helpWidth, getOutHasColors: () => false })
  command.outputHelp()
  return help
}

test('help: every command has a description, an example of itself and its exit codes, at 80 columns', () => {
  assert.ok(leaves.length > 40)
  for (const command of [program, ...commands]) {
    const help = helpOf(command)
    const path = command === program ? '' : pathOf(command)
    assert.ok(command.description().length > 10, path)
    const [, example] = /\nExample:\n {2}(?:.* \| )?npx --no-install turnkeep (.*)\n/.exec(help) ?? assert.fail(`${path} shows no example`)
    assert.ok(example!.startsWith(path), `${path}: ${example}`)
    assert.match(help, /\nExit codes: 0 {2}\S/, path)
    // Field names and arguments such as <request-id> keep their form.
    assert.doesNotMatch(help, /(?<![<\w-])ids?(?![>\w-])/, `${path}: in a sentence it is "ID"`)
    for (const line of help.split('\n'))
      if (!line.includes('npx --no-install turnkeep ')) assert.ok([...line].length <= helpWidth, `${path}: ${line}`)
  }
})

// serve and mcp print no data of the admin API.
test('help: every flag and argument has a sentence, and all but serve and mcp accept --json', () => {
  for (const command of leaves) {
    for (const option of command.options) assert.ok(option.description, `${pathOf(command)} ${option.flags}`)
    if (!['serve', 'mcp'].includes(command.name()))
      assert.ok(
        command.options.some(({ long }) => long === '--json'),
        pathOf(command),
      )
  }
})

test('docs/operate/commands.md names every command, and no other', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/operate/commands.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z-]+)` \| (.*?) \|/gm)].map(([, name, says]) => {
    const verbs = [...says!.matchAll(/`([a-z-]+)`/g)].map(([, verb]) => verb!)
    return [name!, verbs.toSorted()] as const
  })
  const reported = program.commands.map((command) => [command.name(), command.commands.map((verb) => verb.name()).toSorted()] as const)
  assert.deepEqual(Object.fromEntries(rows), Object.fromEntries(reported))
})

test('help: a misspelled command gets a suggestion and exit code 2', async () => {
  for (const [words, nearest] of [
    [['agnt'], 'agent'],
    [['owner', 'lst'], 'list'],
    [['usage', '--buckt', 'day'], '--bucket'],
  ] as const) {
    const { code, stdout, stderr } = await runCommand([...words])
    assert.deepEqual([code, stdout], [2, ''])
    assert.ok(stderr.includes(`(Did you mean ${nearest}?)`), stderr)
  }
})

test('an internal error is one line and exit code 2; the stack trace is shown only with NODE_DEBUG=turnkeep', () => {
  const module = (name: string): string => JSON.stringify(new URL(`../../src/cli/${name}`, import.meta.url))
  const run = `
    const { runProgram } = await import(${module('program.ts')})
    const { startRun } = await import(${module('command-run.ts')})
    const environment = new Proxy({}, { get() { throw new TypeError('oh\\u009b\\nno') } })
    const { stdin, stdout, stderr } = process
    process.exitCode = await runProgram(['config'], startRun({ environment, stdin, stdout, stderr, onInterrupt: () => () => undefined }))`
  const fail = (env: Record<string, string>) => spawnSync(process.execPath, ['--input-type=module', '-e', run], { env, encoding: 'utf8' })
  const { status, stdout, stderr } = fail({})
  assert.deepEqual(
    [status, stdout, stderr],
    [2, '', 'turnkeep: internal error: oh\\u{9b} no (run again with NODE_DEBUG=turnkeep for the stack trace)\n'],
  )
  const debugged = fail({ NODE_DEBUG: 'turnkeep' })
  assert.equal(debugged.status, 2)
  assert.match(debugged.stderr, /^TURNKEEP \d+: TypeError: oh[^]*\n +at [^]*\nturnkeep: internal error: /)
})
