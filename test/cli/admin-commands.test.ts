/** The commands built on the admin API, against the real service: what they print, to which output, and their exit codes. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gate } from '../support/model-server.ts'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

let app: TestApp
let folder: string
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnkeep-cli-'))
  app = await startTestApp()
})
after(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

const turnkeep = (args: string[], environment: Record<string, string> = {}, input?: string): Promise<Ran> =>
  runCommand(args, { TURNKEEP_PUBLIC_URL: app.url, TURNKEEP_ADMIN_TOKEN: adminToken, TURNKEEP_DATA_DIR: folder, ...environment }, input)

/** The JSON of a command that succeeds. */
async function json(...args: string[]): Promise<Json> {
  const ran = await turnkeep([...args, '--json'])
  assert.equal(ran.code, 0, ran.stderr)
  return JSON.parse(ran.stdout) as Json
}

describe('turnkeep owner', () => {
  test('create, show and rename print the owner as the API returns it', async () => {
    const made = await json('owner', 'create', 'Acme Ltd', '--balance', '10.5')
    const found = await app.made('GET', `/owners/${made.id}`)
    assert.deepEqual({ ...made, running_turns: [], indexing: found.indexing }, found)
    assert.deepEqual(await json('owner', 'show', made.id), found)
    assert.equal(made.balance_usd, '10.50000000')
    assert.equal((await json('owner', 'rename', made.id, 'Acme GmbH')).name, 'Acme GmbH')
    const { stdout } = await turnkeep(['owner', 'show', made.id])
    assert.match(stdout, new RegExp(`^id +${made.id}\nname +Acme GmbH\nbalance_usd +10\\.50000000\n`))
  })

  test('update sets and clears the low balance, and renames', async () => {
    const { id } = await json('owner', 'create', 'Low Ltd')
    assert.equal((await json('owner', 'update', id, '--low-balance', '5.00')).low_balance_usd, '5.00000000')
    const { stdout } = await turnkeep(['owner', 'update', id, '--name', 'Lower Ltd'])
    assert.match(stdout, /^name +Lower Ltd$[\s\S]*^low_balance_usd +5\.00000000$/m)
    assert.match((await turnkeep(['owner', 'show', id])).stdout, /^low_balance_usd +5\.00000000$/m)
    assert.equal((await json('owner', 'update', id, '--no-low-balance')).low_balance_usd, null)
    assert.match((await turnkeep(['owner', 'show', id])).stdout, /^low_balance_usd +-$/m)
    const { code, stderr } = await turnkeep(['owner', 'update', id, '--low-balance=-1'])
    assert.equal(code, 1)
    assert.match(stderr, /low_balance_usd must not be negative/)
  })

  test('show lists the running turns that hold the balance, newest first', async () => {
    const held = gate()
    app.model.when('hold', [held, 'x'])
    const running = [app.chat('hold', { user: 'ann' })]
    await app.model.waitForCalls(1)
    running.push(app.chat('hold', { user: 'evil \u001b[31m' }))
    await app.model.waitForCalls(2)
    const { stdout } = await turnkeep(['owner', 'show', app.caller.ownerId])
    const owner = await json('owner', 'show', app.caller.ownerId)
    held.open()
    await Promise.all(running)
    const [figures, table] = stdout.split('\n\n') as [string, string]
    assert.match(figures, new RegExp(`held_usd +${owner.held_usd.replace('.', '\\.')}\n`))
    const [titles, newest, oldest] = table.trim().split('\n') as [string, string, string]
    assert.match(titles, /^running turn +held \$ +started \(UTC\) +user$/)
    assert.ok(newest.startsWith(owner.running_turns[0].request_id) && newest.endsWith('evil \\u{1b}[31m'), newest)
    assert.ok(oldest.startsWith(owner.running_turns[1].request_id) && oldest.endsWith('ann'), oldest)
  })

  test('list --json is one list of all pages, and --limit ends it with the cursor of the rest', async () => {
    for (let count = 0; count < 101; count++) await app.app.admin.createOwner({ name: `Owner ${count}` })
    const all = await json('owner', 'list')
    assert.equal(all.next_cursor, null)
    assert.ok(all.data.length > 101)
    assert.deepEqual(all.data.slice(0, 100), (await app.made('GET', '/owners?limit=100')).data)
    assert.equal(new Set(all.data.map((owner: Json) => owner.id)).size, all.data.length)
    const some = await json('owner', 'list', '--limit', '3')
    assert.deepEqual(some, await app.made('GET', '/owners?limit=3'))
  })

  test('list is a table without color when stdout is not a terminal, and a name cannot inject terminal escapes', async () => {
    const { id } = await app.made('POST', '/owners', { name: 'Evil \u001b[31m日本\u202e', balance_usd: '1.25' })
    const { code, stdout } = await turnkeep(['owner', 'list', '--limit', '2'])
    assert.equal(code, 0)
    const [titles, first, second, ...rest] = stdout.split('\n')
    assert.match(titles!, /^ID +balance \$ +held \$ +unpaid \$ +available \$ +created \(UTC\) +name$/)
    assert.match(first!, new RegExp(`^${id} +1\\.25 +0\\.00 +0\\.00 +1\\.25 .* Evil \\\\u\\{1b\\}\\[31m日本\\\\u\\{202e\\}$`))
    assert.equal(second!.indexOf('Owner'), titles!.indexOf('name'))
    assert.deepEqual(rest, [''])
  })

  test("an unknown owner is refused with the API's message and exit code 1", async () => {
    const { code, stdout, stderr } = await turnkeep(['owner', 'show', 'own_nobody'])
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assert.match(stderr, /^turnkeep: This owner does not exist\. \(not_found, 404, request [0-9a-f-]{36}\)\n$/)
  })
})

describe('turnkeep provider', () => {
  const create = ['provider', 'create', '--kind', 'openai-compatible', '--base-url']

  test('reads its API key from stdin or a variable, never from an argument, and never prints it', async () => {
    const piped = await turnkeep([...create, app.model.baseUrl, 'piped'], {}, 'sk-canary-1\n')
    assert.equal(piped.code, 0, piped.stderr)
    const named = await turnkeep([...create, app.model.baseUrl, 'named', '--api-key-env', 'MY_KEY'], { MY_KEY: 'sk-canary-2' })
    assert.equal(named.code, 0, named.stderr)
    const argument = await turnkeep([...create, app.model.baseUrl, 'argued', '--api-key', 'sk-canary-3'])
    assert.equal(argument.code, 2)
    assert.match(argument.stderr, /unknown option '--api-key'/)
    for (const { stdout, stderr } of [piped, named, argument]) assert.ok(!(stdout + stderr).includes('canary'))
  })

  test('without a key it is refused with exit code 2 and nothing is created', async () => {
    for (const [flags, says] of [
      [[], /no API key: enter it at the prompt/],
      [['--api-key-env', 'NOT_SET'], /the environment variable NOT_SET is not set/],
    ] as const) {
      const { code, stderr } = await turnkeep([...create, app.model.baseUrl, 'keyless', ...flags])
      assert.equal(code, 2)
      assert.match(stderr, says)
    }
    assert.equal((await turnkeep(['provider', 'show', 'keyless'])).code, 1)
  })

  test('show, update, test and delete accept a name or an id', async () => {
    const { id } = await app.made('POST', '/providers', {
      name: 'other',
      kind: 'openai-compatible',
      base_url: app.model.baseUrl,
      api_key: 'k',
    })
    assert.equal((await json('provider', 'show', 'other')).id, id)
    assert.equal((await json('provider', 'show', id)).id, id)
    assert.equal((await json('provider', 'test', 'other', '--model', 'test-model')).ok, true)
    const moving = ['provider', 'update', 'other', '--base-url', 'http://127.0.0.1:1/v1']
    const keyless = await turnkeep(moving)
    assert.equal(keyless.code, 1)
    assert.match(keyless.stderr, /^turnkeep: api_key must be sent again, because base_url points to another server/)
    const moved = await turnkeep([...moving, '--api-key-env', 'MY_KEY', '--json'], { MY_KEY: 'k2' })
    assert.equal(JSON.parse(moved.stdout).base_url, 'http://127.0.0.1:1/v1', moved.stderr)
    const failing = await turnkeep(['provider', 'test', id, '--model', 'm', '--json'])
    assert.equal(failing.code, 1)
    assert.equal(JSON.parse(failing.stdout).ok, false)
    assert.equal((await turnkeep(['provider', 'delete', 'other'])).code, 0)
    assert.equal((await turnkeep(['provider', 'show', 'other'])).code, 1)
  })
})

describe('turnkeep document', () => {
  const add = (...args: string[]): Promise<Ran> => turnkeep(['document', 'add', app.caller.agentId, ...args])

  test('add accepts a file, a URL and text from stdin; list, show and delete work on each', async () => {
    const file = join(folder, 'Opening hours.md')
    writeFileSync(file, '# Hours\n\nOpen at nine.\n')
    const made = await json('document', 'add', app.caller.agentId, file)
    assert.deepEqual([made.source, made.file_name, made.title], ['file', 'Opening hours.md', 'Opening hours.md'])
    const page = await json('document', 'add', app.caller.agentId, 'https://example.invalid/page', '--title', 'A page')
    assert.deepEqual([page.source, page.url, page.title], ['url', 'https://example.invalid/page', 'A page'])
    const piped = await turnkeep(['document', 'add', app.caller.agentId, '-', '--title', 'Piped', '--json'], {}, 'Some text.')
    assert.equal(piped.code, 0, piped.stderr)
    const { id, title, bytes } = JSON.parse(piped.stdout) as Json
    assert.deepEqual([title, bytes], ['Piped', 10])

    const listed = await json('document', 'list', app.caller.agentId)
    assert.deepEqual(
      listed.data.map((document: Json) => document.id),
      [id, page.id, made.id],
    )
    assert.match(
      (await turnkeep(['document', 'list', app.caller.agentId])).stdout,
      /^ID +status +chunks +warnings +bytes +updated \(UTC\) +title\n/,
    )
    assert.equal((await json('document', 'show', app.caller.agentId, id)).title, 'Piped')
    assert.equal((await turnkeep(['document', 'delete', app.caller.agentId, id])).code, 0)
    const gone = await turnkeep(['document', 'show', app.caller.agentId, id])
    assert.deepEqual([gone.code, /This document does not exist/.test(gone.stderr)], [1, true])
    await app.made('DELETE', `/agents/${app.caller.agentId}/documents/${page.id}`)
  })

  test('add --wait exits when the document is searchable, with progress beside the result; --replace keeps the id', async () => {
    const file = join(folder, 'wait.txt')
    writeFileSync(file, 'The gnu is a beast.')
    const { code, stdout, stderr } = await add(file, '--wait', '--json')
    assert.equal(code, 0, stderr)
    const document = JSON.parse(stdout) as Json
    assert.deepEqual([document.status, document.chunks], ['ready', 1])
    assert.match(stderr, /^(queued|indexing) +\d+ % {2}wait\.txt\n/)
    writeFileSync(file, 'The yak is a beast.')
    const replaced = await json('document', 'add', app.caller.agentId, file, '--replace', document.id, '--wait')
    assert.deepEqual([replaced.id, replaced.status], [document.id, 'ready'])
    const { data } = await app.made('POST', `/agents/${app.caller.agentId}/search`, { query: 'beast' })
    assert.deepEqual(
      data.map(({ text }: Json) => text),
      ['The yak is a beast.'],
    )
  })

  test('add --wait of an unreadable document exits with code 1 and the reason', async () => {
    const file = join(folder, 'picture.pdf')
    writeFileSync(file, Buffer.from('89504e470d0a1a0a0000', 'hex'))
    const { code, stdout, stderr } = await add(file, '--wait', '--json')
    assert.equal(code, 1)
    assert.equal(JSON.parse(stdout).status, 'failed')
    assert.match(stderr, /\nturnkeep: cannot read the document: .*PNG.*\n$/)
  })

  test('a missing input is exit code 2, a refusal by the server is exit code 1', async () => {
    for (const [args, code, says] of [
      [[join(folder, 'none.md')], 2, /cannot read .*none\.md: ENOENT/],
      [[mkdtempSync(join(folder, 'empty-'))], 2, /the folder has no md, txt, html, pdf or docx file/],
      [[join(folder, '*.xyz')], 2, /the pattern matches no md, txt, html, pdf or docx file/],
      [['-'], 2, /--title/],
      [['https://10.0.0.1/'], 1, /url: .*not public.*validation_error, 422/],
      [['http://example.com/'], 1, /https/],
    ] as const) {
      const ran = await add(...args)
      assert.equal(ran.code, code, ran.stderr)
      assert.match(ran.stderr, says)
    }
  })
})

describe('turnkeep agent', () => {
  test('reads fields from a file and from flags, which take precedence; creates versions; rolls back', async () => {
    const file = join(folder, 'agent.json')
    writeFileSync(file, JSON.stringify({ name: 'From the file', system_prompt: 'Be kind.', model: 'demo/demo', max_steps: 3 }))
    const made = await json('agent', 'create', '-f', file, '--owner', app.caller.ownerId, '--name', 'From the flag')
    assert.deepEqual([made.name, made.system_prompt, made.max_steps, made.version], ['From the flag', 'Be kind.', 3, 1])
    const prices = ['--prompt-price', '1.5', '--completion-price', '2', '--cached-prompt-price', '0.15']
    const changed = await json('agent', 'update', made.id, ...prices, '--temperature', '0.5', '--max-output-tokens', '100')
    assert.deepEqual(
      [changed.version, changed.price, changed.temperature, changed.max_output_tokens, changed.max_steps],
      [
        2,
        {
          prompt_usd_per_million: '1.50000000',
          completion_usd_per_million: '2.00000000',
          cached_prompt_usd_per_million: '0.15000000',
          cache_write_usd_per_million: null,
        },
        0.5,
        100,
        3,
      ],
    )
    assert.equal((await json('agent', 'rollback', made.id, '1')).temperature, null)
    assert.deepEqual(
      (await json('agent', 'versions', made.id)).data.map(({ version }: Json) => version),
      [3, 2, 1],
    )
    assert.equal((await json('agent', 'disable', made.id)).enabled, false)
    assert.equal((await json('agent', 'enable', made.id)).enabled, true)
    assert.match((await turnkeep(['agent', 'list', '--limit', '1'])).stdout, /^ID .*\nagt_\w+ +yes +3 +demo\/demo .*From the flag\n$/)
    assert.equal((await turnkeep(['agent', 'delete', made.id])).code, 0)
    assert.equal((await turnkeep(['agent', 'show', made.id])).code, 1)
  })

  test('reads tools from a file, shows them without secrets, and accepts its own output again', async () => {
    const file = join(folder, 'tools.json')
    const parameters = { type: 'object', properties: { city: { type: 'string' } } }
    const http = { type: 'http', name: 'weather', description: 'd', parameters, method: 'GET', url: 'https://example.com/{city}' }
    writeFileSync(
      file,
      JSON.stringify([
        { ...http, headers: { 'X-Key': 'sk-canary-tool' } },
        { type: 'builtin', name: 'now' },
      ]),
    )
    const { agentId } = app.caller
    const changed = await turnkeep(['agent', 'update', agentId, '--tools', file])
    assert.equal(changed.code, 0, changed.stderr)
    const shown = await turnkeep(['agent', 'show', agentId])
    assert.match(
      shown.stdout,
      /^tools\.1\.type +http\ntools\.1\.name +weather\n[^]*^tools\.1\.parameters +\{"type":"object".*\n[^]*^tools\.1\.headers\.X-Key +-\n[^]*^tools\.2\.name +now$/m,
    )
    for (const { stdout, stderr } of [changed, shown]) assert.ok(!(stdout + stderr).includes('canary'))

    const { stdout } = await turnkeep(['agent', 'show', agentId, '--json'])
    const again = await turnkeep(['agent', 'update', agentId, '--tools', '-', '--json'], {}, stdout)
    assert.equal(again.code, 0, again.stderr)
    assert.equal(JSON.parse(again.stdout).version, JSON.parse(stdout).version)
    const wrong = await turnkeep(['agent', 'update', agentId, '--tools', '-'], {}, '{"name":"x"}')
    assert.deepEqual([wrong.code, wrong.stderr.startsWith('turnkeep: stdin must contain a JSON list of tools')], [2, true])
    assert.equal((await turnkeep(['agent', 'update', agentId, '--tools', '-', '-f', '-'])).code, 2)
    await app.made('PATCH', `/agents/${agentId}`, { tools: [] })
  })

  test('reads fields from stdin, and refuses a file that is not JSON with exit code 2', async () => {
    const fields = JSON.stringify({ owner_id: app.caller.ownerId, name: 'Piped', system_prompt: '', model: 'demo/demo' })
    assert.equal((await turnkeep(['agent', 'create', '-f', '-'], {}, fields)).code, 0)
    const file = join(folder, 'broken.json')
    writeFileSync(file, '{"name":')
    const { code, stderr } = await turnkeep(['agent', 'create', '-f', file])
    assert.equal(code, 2)
    assert.match(stderr, /^turnkeep: .*broken\.json is not valid JSON/)
    assert.match((await turnkeep(['agent', 'create', '-f', join(folder, 'none.json')])).stderr, /cannot read .*none\.json: ENOENT/)
  })
})

describe('turnkeep key', () => {
  test('create and rotate print only the secret on stdout, and it works; revoke ends it', async () => {
    const made = await turnkeep(['key', 'create', app.caller.agentId, '--name', 'ci', '--limit', '600', '--window', '60'])
    assert.equal(made.code, 0, made.stderr)
    assert.match(made.stdout, /^svc_live_[a-z0-9]{16}\.\S+\n$/)
    assert.ok(!made.stderr.includes(made.stdout.trim()))
    const apiKey = made.stdout.trim()
    assert.equal((await app.chat('hello', { apiKey, user: 'cli' })).status, 200)

    const { id, rate_limit: rate } = (await json('key', 'list', app.caller.agentId)).data[0]
    assert.deepEqual(rate, { limit: 600, window_seconds: 60 })
    assert.equal((await json('key', 'update', id, '--permission', 'read-only')).permission, 'read-only')
    assert.equal((await json('key', 'update', id, '--permission', 'full')).permission, 'full')
    const rotated = (await turnkeep(['key', 'rotate', id, '--grace', '60'])).stdout.trim()
    for (const key of [apiKey, rotated]) assert.equal((await app.chat('again', { apiKey: key, user: 'cli' })).status, 200)
    assert.equal((await turnkeep(['key', 'revoke', id])).code, 0)
    assert.equal((await app.chat('again', { apiKey: rotated, user: 'cli' })).status, 401)
  })
})

describe('turnkeep ledger', () => {
  test('add shows its Idempotency-Key, and the same key creates the entry once', async () => {
    const { id } = await app.made('POST', '/owners', { name: 'Paying' })
    const first = await turnkeep(['ledger', 'add', id, '25', '--note', 'Invoice 17', '--json'])
    assert.equal(first.code, 0, first.stderr)
    const [, key] = /^Idempotency-Key: (\S+)\n$/.exec(first.stderr) ?? []
    const again = await turnkeep(['ledger', 'add', id, '25', '--note', 'Invoice 17', '--json', '--idempotency-key', key!])
    assert.deepEqual(JSON.parse(again.stdout), JSON.parse(first.stdout))
    assert.equal((await turnkeep(['ledger', 'add', id, '26', '--idempotency-key', key!])).code, 1)
    assert.equal((await json('ledger', 'add', id, '-5.00000001')).amount_usd, '-5.00000001')
    assert.equal((await json('owner', 'show', id)).balance_usd, '19.99999999')
    const other = (key: string) => turnkeep(['ledger', 'add', id, '1', '--idempotency-key', key])
    assert.deepEqual([(await other('счёт-17')).code, (await other('счёт-17')).code], [0, 0])
    assert.equal((await json('owner', 'show', id)).balance_usd, '20.99999999')
    const refused = await other(' счёт-17')
    assert.deepEqual([refused.code, /must not be empty, begin or end with a blank/.test(refused.stderr)], [2, true], refused.stderr)
    const { stdout } = await turnkeep(['ledger', 'list', id])
    assert.match(stdout, /adjustment +-5\.00000001 .*\n.* credit +25\.00 .* Invoice 17\n$/)
  })
})

describe('turnkeep usage', () => {
  test("prints the API's report, as JSON and as a table with totals", async () => {
    assert.equal((await app.chat('count me', { user: 'usage' })).status, 200)
    app.model.script({ status: 401, body: 'no' })
    assert.equal((await app.chat('an error', { user: 'usage' })).status, 500)
    const query = `?bucket=day&agent_id=${app.caller.agentId}&from=2020-01-01&to=2020-02-01`
    const flags = ['--bucket', 'day', '--agent', app.caller.agentId]
    assert.deepEqual(await json('usage', ...flags, '--from', '2020-01-01', '--to', '2020-02-01'), await app.made('GET', `/usage${query}`))
    const { totals } = await app.made('GET', `/usage?bucket=day&agent_id=${app.caller.agentId}`)
    const { stdout } = await turnkeep(['usage', ...flags])
    const lines = stdout.trimEnd().split('\n')
    assert.match(lines[0]!, /^day \(UTC\) +turns +completed +cancelled +errors /)
    assert.match(lines[2]!, new RegExp(`^total +${totals.turns} +${totals.completed} +0 +1 `))
    assert.deepEqual(lines.slice(3), ['', 'Errors by cause: provider_401 1'])
    assert.equal((await turnkeep(['usage', '--from', 'yesterday'])).code, 1)
    assert.equal((await turnkeep(['usage', '--bucket', 'week'])).code, 2)
  })
})

describe('turnkeep reports', () => {
  const month = new Date().toISOString().slice(0, 7)
  const csv = async (path: string): Promise<string> => (await app.admin('GET', path, undefined, { accept: 'text/csv' })).text

  test('billing.reports: usage --group-by prints rows with names and a total, in 80 columns, and --csv what the API returns', async () => {
    const { ownerId } = await app.makeCaller()
    const names = ['Support for the shop', 'Sales', 'Returns']
    const agents = await Promise.all(names.map((name) => app.makeAgent(ownerId, { name })))
    for (const { id } of agents) {
      const { api_key: apiKey } = await app.made('POST', `/agents/${id}/keys`, { permission: 'full' })
      await app.chat('hi', { user: '+49 30 1', caller: { agentId: id, apiKey, ownerId } })
    }
    const flags = ['usage', '--owner', ownerId, '--month', month]
    const { stdout } = await turnkeep([...flags, '--group-by', 'agent'])
    const { data } = await app.made('GET', `/usage?owner_id=${ownerId}&group_by=agent`)
    const lines = stdout.trimEnd().split('\n')
    assert.match(lines[0]!, /^agent +turns +prompt tokens +completion tokens +charged \$$/)
    assert.deepEqual(
      lines.slice(1, 4).map((line) => line.split(/ {2,}/)[0]),
      data.map((line: Json) => line.agent_name),
    )
    const total = data.reduce((sum: bigint, line: Json) => sum + BigInt(line.charged_usd.replace('.', '')), 0n)
    assert.equal(lines[4]!.split(/ +/)[4]!.replace('.', '').padEnd(9, '0'), String(total).padStart(9, '0'))
    assert.ok(
      lines.every((line) => line.length <= 80),
      stdout,
    )
    const users = await turnkeep([...flags, '--group-by', 'agent,end_user,day'])
    assert.match(users.stdout, /^day \(UTC\) +agent +end user|^agent +end user +day \(UTC\)/)

    const grouped = await turnkeep([...flags, '--group-by', 'agent', '--csv'])
    assert.equal(grouped.stdout, await csv(`/usage?owner_id=${ownerId}&group_by=agent&from=${month}-01`))
    assert.deepEqual(JSON.parse((await turnkeep([...flags, '--group-by', 'agent', '--json'])).stdout), { data, next_cursor: null })
    const ledger = await turnkeep(['ledger', 'list', ownerId, '--month', month, '--csv'])
    assert.equal(ledger.stdout, await csv(`/ledger?owner_id=${ownerId}`))
    assert.match(ledger.stdout, /,'\+49 30 1\r\n/)
    const ofAgent = await turnkeep(['ledger', 'list', '--agent', 'Sales', '--user', '+49 30 1', '--json'])
    assert.deepEqual(
      JSON.parse(ofAgent.stdout).data.map((entry: Json) => [entry.kind, entry.agent_id]),
      [['charge', agents[1]!.id]],
    )
    assert.match((await turnkeep(['ledger', 'list', '--limit', '1'])).stdout, /^ID .* note +owner\n/)
  })

  test('reports: options that contradict each other, and unknown months, groups and filters, are refused', async () => {
    const cases: [string[], number, RegExp][] = [
      [['usage', '--month', '2026-13'], 2, /must be a month, such as 2026-10/],
      [['usage', '--month', '0026-10'], 2, /must be a month, such as 2026-10/],
      [['usage', '--month', '9999-12'], 2, /must be a month, such as 2026-10/],
      [['usage', '--from', '2026-02-31'], 1, /from is a day or a time that does not exist/],
      [['usage', '--month', '2026-10', '--from', '2026-10-02'], 2, /--month is the whole time range/],
      [['usage', '--bucket', 'day', '--csv'], 2, /--bucket is not for --csv/],
      [['usage', '--csv', '--json'], 2, /two formats/],
      [['usage', '--group-by', 'week'], 1, /group_by must be one or more of owner, agent/],
      [['usage', '--group-by', 'week', '--csv'], 1, /group_by must be one or more of owner, agent/],
      [['usage', '--group-by', 'agent', '--agent', 'agt_x'], 1, /no agent has the ID agt_x/],
      [['ledger', 'list', '--csv', '--limit', '5'], 2, /--csv prints every entry/],
      [['ledger', 'list', 'own_x'], 1, /does not exist/],
      [['end-user', 'export', app.caller.agentId, 'no one'], 1, /This end user does not exist/],
    ]
    for (const [args, code, words] of cases) {
      const ran = await turnkeep(args)
      assert.deepEqual([ran.code, ran.stdout], [code, ''], args.join(' '))
      assert.match(ran.stderr, words)
    }
  })

  test('end-users: list, show and export print what the API returns', async () => {
    const { agentId } = app.caller
    await app.chat('hello', { user: 'the exported one' })
    const { data } = await app.made('GET', `/agents/${agentId}/end-users?window=total`)
    assert.deepEqual((await json('end-user', 'list', agentId, '--window', 'total')).data, data)
    assert.match((await turnkeep(['end-user', 'list', agentId])).stdout, /^end user +spent \$ +turns +up +down +last activity \(UTC\)\n/)
    const path = `/agents/${agentId}/end-users`
    const query = `external_user_id=${encodeURIComponent('the exported one')}`
    assert.deepEqual(await json('end-user', 'show', agentId, 'the exported one'), await app.made('GET', `${path}/detail?${query}`))
    const { stdout } = await turnkeep(['end-user', 'export', agentId, 'the exported one'])
    assert.equal(stdout, (await app.admin('GET', `${path}/export?${query}`)).text)
    assert.equal(stdout.trimEnd().split('\n').length, 5)
  })
})
