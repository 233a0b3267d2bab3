/** What a command or a start says about a mistake: what is wrong, where it is, and what to do. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readConfig } from '../../src/config/config.ts'
import { parseJson } from '../../src/cli/terminal/json-input.ts'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { showServer } from '../support/shown-server.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

let app: TestApp
let folder: string
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnkeep-messages-'))
  app = await startTestApp()
})
after(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

const run = (...args: string[]): Promise<Ran> => runCommand(args, { TURNKEEP_PUBLIC_URL: app.url, TURNKEEP_ADMIN_TOKEN: adminToken })

async function fails(args: string[], code: number, says: RegExp): Promise<void> {
  const ran = await run(...args)
  assert.deepEqual([ran.code, ran.stdout], [code, ''], ran.stderr)
  assert.match(ran.stderr, says)
}

describe('messages', () => {
  const create = (model: string): string[] => [
    'agent',
    'create',
    '--owner',
    app.caller.ownerId,
    '--name',
    'A',
    '--system-prompt',
    's',
    '--model',
    model,
  ]

  test('a model without its provider is explained, with the providers of the server', async () => {
    await fails(create('gpt-5'), 2, /^turnkeep: the model gpt-5 names no provider: .*, such as scripted\/gpt-5\n$/)
    await fails(['agent', 'update', app.caller.agentId, '--model', 'gpt-5'], 2, /such as scripted\/gpt-5\n$/)
    await fails(
      create('openai/'),
      1,
      /^turnkeep: model must be the name of a provider, a slash and the ID of a model, such as openai\/gpt-5\.4-mini\./,
    )
    await fails(['agent', 'price', 'x'], 1, /^turnkeep: model must be the name of a provider, a slash/)
  })

  test('an unknown provider is reported as such, and not as a missing price', async () => {
    await fails(
      create('scriptd/gpt-5'),
      1,
      /^turnkeep: The provider of the model scriptd\/gpt-5 does not exist\. Did you mean scripted\? \(/,
    )
    await fails(
      create('nowhere/gpt-5'),
      1,
      /^turnkeep: The provider of the model nowhere\/gpt-5 does not exist\. The providers are scripted\. \(/,
    )
    await fails(['agent', 'update', app.caller.agentId, '--model', 'nowhere/x'], 1, /The provider of the model nowhere\/x does not exist\./)
  })

  test('a date that is not one says what a date is, whatever its length', async () => {
    for (const date of ['today', '1', '2026-11-2', 'x'.repeat(60)])
      await fails(
        ['usage', '--from', date],
        1,
        /^turnkeep: from must be a date such as 2026-11-21, or a time with a zone such as 2026-11-21T12:00:00Z\./,
      )
  })

  test('invalid JSON has its line and column, in a file and in an option', async () => {
    const file = join(folder, 'broken.json')
    writeFileSync(file, '{\n  "name": "A",\n  "model" "demo/demo"\n}\n')
    await fails(
      ['agent', 'create', '-f', file],
      2,
      /^turnkeep: \S+broken\.json is not valid JSON: line 3, column 11: found "\\"" where a colon is expected\n$/,
    )
    writeFileSync(file, '[{"type": "builtin",}]')
    await fails(
      ['agent', 'update', app.caller.agentId, '--tools', file],
      2,
      /line 1, column 21: found "}" where a name in double quotes is expected\n$/,
    )
    await fails(
      ['agent', 'try-tool', app.caller.agentId, 'now', '--arguments', '{"a": }'],
      2,
      /^turnkeep: --arguments is not valid JSON: line 1, column 7: found "}" where a value is expected\n$/,
    )
  })

  test('the position is that of the first character that cannot follow', () => {
    for (const [text, position] of [
      ['', 'line 1, column 1: the text ends where a value is expected'],
      ['{"a": 1', 'line 1, column 8: the text ends where a comma or } is expected'],
      ['[1, 2', 'line 1, column 6: the text ends where a comma or ] is expected'],
      ['{\n "a": 01}', 'line 2, column 7: found "0" where a value is expected'],
      ['{"a": nul}', 'line 1, column 7: found "n" where a value is expected'],
      ["{'a': 1}", 'line 1, column 2: found "\'" where a name in double quotes or } is expected'],
      ['[1] x', 'line 1, column 5: found "x" where the end is expected'],
      ['["a\n"]', 'line 1, column 2: this text has no closing quote, an invalid escape or a line break'],
      ['{"a": [1, {"c": true}], "e": "\\u00e9\u007f" 1}', 'line 1, column 40: found "1" where a comma or } is expected'],
    ] as const)
      assert.throws(() => parseJson(text, 'it'), { message: `it is not valid JSON: ${position}` }, text)
    for (const text of ['{"a": {"b": [1, {"c": true}], "d": -1.5e+3}, "e": "\\u00e9\u007f"}', '1', '"\u0080"', ' [ ] ', '{}', '-0.1E-2'])
      assert.deepEqual(parseJson(text, 'it'), JSON.parse(text))
  })

  test('a setting with a prefix that its name does not have: names the setting', () => {
    const problems = (environment: Record<string, string>): string[] => {
      const outcome = readConfig(environment)
      return outcome.kind === 'problems' ? outcome.problems : []
    }
    assert.deepEqual(problems({ TURNKEEP_PORT: '9000' }), ['TURNKEEP_PORT: unknown setting; did you mean PORT?'])
    assert.deepEqual(problems({ TURNKEEP_DATABASE_URL: 'x' }), ['TURNKEEP_DATABASE_URL: unknown setting; did you mean DATABASE_URL?'])
    assert.deepEqual(problems({ TURNKEEP_OPENAI_API_KEY: 'x' }), ['TURNKEEP_OPENAI_API_KEY: unknown setting; did you mean OPENAI_API_KEY?'])
    assert.deepEqual(problems({ TURNKEEP_HOSTS: 'x' }), ['TURNKEEP_HOSTS: unknown setting; did you mean TURNKEEP_HOST?'])
  })

  test('a start that waits for PostgreSQL logs its host, port and database and the last error, and never the password', async (t) => {
    const deaf = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => void deaf.listen(0, '127.0.0.1', resolve))
    t.after(() => deaf.close())
    const { port } = deaf.address() as AddressInfo
    const secrets = { TURNKEEP_ADMIN_TOKEN: adminToken, TURNKEEP_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }
    const server = showServer({ ...secrets, TURNKEEP_DATA_DIR: folder, DATABASE_URL: `postgres://me:geheim@127.0.0.1:${port}/shop` })
    // On a busy machine, the first line comes before the first attempt has failed, and has no error yet.
    const waiting = /"cause":"[^"]*(?:Connection terminated|ECONNRESET).*"msg":"waiting for the database"/
    await server.shows('stderr', waiting)
    const line = JSON.parse(server.shown.stderr.split('\n').find((one: string) => waiting.test(one))!)
    assert.deepEqual([line.host, line.port, line.database, line.maxSeconds], ['127.0.0.1', port, 'shop', 30])
    assert.ok(!server.shown.stderr.includes('geheim'))
    await server.stop()
  })
})

describe('backup', () => {
  test('of a folder without a database says so, and which settings choose another one', async () => {
    const ran = await runCommand(['backup', join(folder, 'x.db')], { TURNKEEP_DATA_DIR: folder })
    assert.deepEqual([ran.code, ran.stdout], [2, ''])
    assert.equal(
      ran.stderr,
      `turnkeep: cannot back up ${folder}: it has no database. Set TURNKEEP_DATA_DIR to the data folder of the server, or DATABASE_URL if it uses PostgreSQL.\n`,
    )
    const absent = await runCommand(['backup', join(folder, 'x.db')], { TURNKEEP_DATA_DIR: join(folder, 'none') })
    assert.match(absent.stderr, /^turnkeep: cannot back up \S+none: it has no database\./)
  })
})
