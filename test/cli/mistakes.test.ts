/** What a person reads after a common mistake: the option to fix, in the words of the command, and exit code 2 before anything is sent. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { docPage } from '../../src/cli/terminal/doc-page.ts'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'

let app: TestApp
before(async () => (app = await startTestApp()))
after(() => app.close())
const turnkeep = (...args: string[]): Promise<Ran> =>
  runCommand(args, { TURNKEEP_PUBLIC_URL: app.adminUrl, TURNKEEP_ADMIN_TOKEN: adminToken })

describe('mistakes', () => {
  test('agent create names all missing options at once, and its help says which are required', async () => {
    const none = await turnkeep('agent', 'create')
    assert.equal(none.code, 2)
    assert.equal(
      none.stderr,
      'turnkeep: missing options: --owner, --name, --system-prompt (or --system-prompt-file), --model. They can also be fields of the file of --file.\n',
    )
    const some = await turnkeep('agent', 'create', '--owner', app.caller.ownerId, '--name', 'A', '--model', 'demo/demo')
    assert.equal(some.code, 2)
    assert.match(some.stderr, /^turnkeep: missing options: --system-prompt \(or --system-prompt-file\)\./)
    const { stdout } = await turnkeep('agent', 'create', '--help')
    for (const flag of ['--owner <owner>', '--name <name>', '--system-prompt <text>', '--model <provider/model>'])
      assert.match(stdout, new RegExp(`${flag} [^]{0,120}\\(required`), flag)
    assert.doesNotMatch((await turnkeep('agent', 'update', '--help')).stdout, /required/)
  })

  test('an amount that is not one is refused with the name of its option', async () => {
    for (const [args, says] of [
      [
        ['owner', 'create', 'A', '--balance', 'abc'],
        /'--balance <usd>' argument 'abc' is invalid\. It must be an amount in USD, such as 10\.50\./,
      ],
      [['owner', 'create', 'A', '--balance', '1,50'], /--balance/],
      [['ledger', 'add', app.caller.ownerId, '5 USD'], /argument value '5 USD' is invalid for argument 'usd'/],
      [['agent', 'update', 'Test agent', '--prompt-price', '$1'], /--prompt-price/],
    ] as [string[], RegExp][]) {
      const { code, stderr } = await turnkeep(...args)
      assert.equal(code, 2, stderr)
      assert.match(stderr, says)
    }
  })

  test('a limit below 1 is refused', async () => {
    for (const args of [['ledger', 'list', app.caller.ownerId], ['owner', 'list'], ['audit']]) {
      const { code, stderr } = await turnkeep(...args, '--limit', '0')
      assert.equal(code, 2, args.join(' '))
      assert.match(stderr, /'--limit <count>' argument '0' is invalid\. It must be a whole number from 1\./)
    }
  })

  test('help of a command is that of the command', async () => {
    const asked = await turnkeep('help', 'agent', 'create')
    assert.deepEqual([asked.code, asked.stdout], [0, (await turnkeep('agent', 'create', '--help')).stdout])
    const unknown = await turnkeep('help', 'agent', 'crate')
    assert.equal(unknown.code, 2)
    assert.match(unknown.stderr, /unknown command 'crate'/)
  })

  test('https at a port that speaks HTTP is said in words', async () => {
    const { code, stderr } = await turnkeep('status', '--url', app.adminUrl.replace('http:', 'https:'))
    assert.equal(code, 2)
    assert.match(stderr, /^turnkeep: cannot reach https:\S+: this port does not use TLS; use http:\/\//)
    assert.doesNotMatch(stderr, /SSL|OPENSSL|\.c:/)
  })

  test('the pages that messages name exist on this machine, from any working directory', () => {
    const before = process.cwd()
    try {
      for (const folder of [before, '/']) {
        process.chdir(folder)
        for (const page of ['docs/operate/backup-restore.md', 'docs/operate/postgresql.md', 'docs/knowledge.md'])
          assert.ok(existsSync(docPage(page)), `${folder}: ${docPage(page)}`)
      }
    } finally {
      process.chdir(before)
    }
  })

  test('a list of messages shows the charge of a turn once, beside its reply', async () => {
    const { json } = await app.chat('hello', { user: 'ann' })
    const { stdout } = await turnkeep('conversation', 'messages', json['conversation_id'])
    const rows = stdout.split('\n').slice(1, 3)
    const charged = Number(json['usage'].charged_usd)
    assert.match(
      rows.find((row) => row.includes('assistant'))!,
      new RegExp(String(charged)),
    )
    assert.match(
      rows.find((row) => row.includes(' user '))!,
      / user +- /,
    )
  })
})
