/** The read commands for support: conversations, turns, tools, search, audit. Against the real service. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startScriptedMcp, tool } from '../support/mcp-scripted-server.ts'
import { readCsv } from '../support/read-csv.ts'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

let app: TestApp
before(async () => {
  app = await startTestApp({ agent: { tools: [{ type: 'builtin', name: 'now' }] } })
})
after(() => app.close())

const turnkeepAt = ({ url }: TestApp, ...args: string[]): Promise<Ran> =>
  runCommand(args, { TURNKEEP_PUBLIC_URL: url, TURNKEEP_ADMIN_TOKEN: adminToken })
const turnkeep = (...args: string[]): Promise<Ran> => turnkeepAt(app, ...args)

async function json(...args: string[]): Promise<Json> {
  const ran = await turnkeep(...args, '--json')
  assert.equal(ran.code, 0, ran.stderr)
  return JSON.parse(ran.stdout) as Json
}

describe('turnkeep conversation and turn', () => {
  test('list, show and messages print what the API returns; delete erases the text and its figures stay', async () => {
    const { json: reply } = await app.chat('hello there', { user: 'ann' })
    await app.chat('somebody else', { user: 'ben' })
    const { data } = await json('conversation', 'list', '--user', 'ann')
    assert.deepEqual(data, [{ ...(await app.made('GET', `/conversations/${reply.conversation_id}`)), turn: null }])
    assert.deepEqual((await json('conversation', 'show', reply.conversation_id)).external_user_id, 'ann')
    const { stdout } = await turnkeep('conversation', 'messages', reply.conversation_id)
    assert.match(stdout, /^time \(UTC\) +role .*\n.* assistant .* You said: hello there\n.* user .* hello there\n$/)
    const erased = await json('conversation', 'delete', reply.conversation_id)
    assert.deepEqual([erased.conversations, erased.messages], [1, 2])
    assert.deepEqual((await json('conversation', 'messages', reply.conversation_id)).data, [])
    assert.equal((await json('conversation', 'delete-user', app.caller.agentId, 'ben')).conversations, 1)
    assert.equal((await json('turn', 'show', reply.request_id)).usage.charged_usd, reply.usage.charged_usd)
  })

  test('--json prints what the API returns, with terminal control characters written as \\uXXXX', async () => {
    const hostile = 'C1 \u009b31m, DEL \u007f, turned \u202eround, hidden \u{e0041}, line \u2028 end'
    app.model.script(hostile)
    const { json: reply } = await app.chat('say it', { user: hostile })
    const path = `/conversations/${reply.conversation_id}`
    const answers: [Ran, Json][] = [
      [await turnkeep('conversation', 'messages', reply.conversation_id, '--json'), await app.made('GET', `${path}/messages`)],
      [await turnkeep('conversation', 'show', reply.conversation_id, '--json'), await app.made('GET', path)],
    ]
    for (const [{ stdout }, reported] of answers) {
      assert.deepEqual(JSON.parse(stdout), reported)
      assert.doesNotMatch(stdout, /[\u007f-\u009f]|\p{Cf}|\u2028/u)
      assert.match(stdout, /C1 \\u009b31m, DEL \\u007f, turned \\u202eround, hidden \\udb40\\udc41, line \\u2028 end/)
    }
  })

  test('turn show prints why a turn failed, and each step; list filters the failed ones', async () => {
    app.model.script([{ toolCall: { id: 'c1', name: 'now', arguments: '{}' } }], 'It is late.')
    const { json: reply } = await app.chat('what time is it?', { user: 'eve' })
    const { stdout } = await turnkeep('turn', 'show', reply.request_id)
    assert.match(stdout, new RegExp(`^request_id +${reply.request_id}\n[^]*^status +completed$[^]*\nrun +step +time`, 'm'))
    assert.match(stdout, / model .* calls \[.*now/)
    assert.match(stdout, / now succeeded +[\d,]+ ms /)
    app.model.script({ status: 400, body: { error: { message: 'no such model' } } })
    assert.equal((await app.chat('and now?', { user: 'eve' })).status, 500)
    const { data } = await json('turn', 'list', '--status', 'released')
    assert.equal(data.length, 1)
    const failed = await turnkeep('turn', 'show', data[0].request_id)
    assert.match(failed.stdout, /^failure\.cause +.*no such model/m)
    assert.equal((await turnkeep('turn', 'show', 'none')).code, 1)
  })
})

describe('turnkeep agent tools', () => {
  test('lists the tools of an agent, calls one, and compares the pinned tools with the MCP servers', async () => {
    const { agentId } = app.caller
    assert.match(
      (await turnkeep('agent', 'tools', agentId)).stdout,
      /^name +kind +side effects +pinned +description\nnow +builtin +no +- +\S/,
    )
    const pinned = { type: 'object', properties: { order: { type: 'string', pattern: '^A-\\d+$' } }, required: ['order'] }
    const shop = await startScriptedMcp({ tools: [tool('find', { inputSchema: pinned }), tool('odd', { description: 'a\0' })] })
    after(() => shop.close())
    const open = await startTestApp({ env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: `127.0.0.1:${shop.port}` } })
    after(() => open.close())
    const caller = await open.makeCaller({ agent: { tools: [{ type: 'mcp', name: 'shop', url: shop.url }] } })
    const toolOf = (...words: string[]) => turnkeepAt(open, 'agent', 'tools', caller.agentId, ...words)
    const shown = await toolOf('shop__find')
    assert.match(shown.stdout, /^name +shop__find\n.*\npinned +yes\ndescription +Does find\.\n/s)
    assert.deepEqual(JSON.parse(shown.stdout.slice(shown.stdout.indexOf('{'))), pinned)
    assert.deepEqual(JSON.parse((await toolOf('shop__find', '--json')).stdout).parameters, pinned)
    const odd = 'The tool shop__odd cannot be used: its description is not well-formed text.\n'
    assert.equal((await toolOf()).stderr, odd)
    const compared = await turnkeepAt(open, 'agent', 'refresh-tools', caller.agentId)
    assert.deepEqual([compared.code, compared.stderr], [0, `The pinned tools match the MCP servers.\n${odd}`])
    const none = await toolOf('find')
    assert.deepEqual(
      [none.code, none.stderr],
      [1, 'turnkeep: the agent has no tool find: npx --no-install turnkeep agent tools lists them\n'],
    )
    const tried = await turnkeep('agent', 'try-tool', agentId, 'now')
    assert.match(tried.stdout, /\d{4}/)
    assert.match(tried.stderr, /^Succeeded after \d+ ms\.\n$/)
    const wrong = await turnkeep('agent', 'try-tool', agentId, 'now', '--arguments', '[]')
    assert.deepEqual([wrong.code, wrong.stderr], [2, 'turnkeep: --arguments must be a JSON object, such as {"city": "Oslo"}\n'])
    const same = await turnkeep('agent', 'refresh-tools', agentId)
    assert.deepEqual([same.code, same.stderr], [0, 'The pinned tools match the MCP servers.\n'])
  })
})

describe('turnkeep document search, audit and status', () => {
  test('search prints the best passages, audit who changed what, status the state of the service', async () => {
    const { agentId } = app.caller
    const document = await app.made('POST', `/agents/${agentId}/documents`, {
      title: 'Returns',
      text: 'Parcels may be returned within thirty days.',
    })
    for (let status = ''; status !== 'ready';) status = (await app.made('GET', `/agents/${agentId}/documents/${document.id}`)).status
    const found = await turnkeep('document', 'search', agentId, 'return a parcel')
    assert.match(found.stdout, /^score +title +section +text\n *\d+(\.\d+)? +Returns +\S.*Parcels may be returned within thirty days\.\n$/)
    assert.equal((await json('document', 'search', agentId, 'return a parcel')).data[0].document_id, document.id)
    const audited = await turnkeep('audit', '--limit', '1')
    assert.match(audited.stdout, new RegExp(`^time \\(UTC\\) +author .*\n.* admin token +put +document +${document.id} .*title: Returns`))
    assert.deepEqual((await json('status')).turns.running, 0)
  })

  test('audit.changes: audit shows values before and after, filters, and prints CSV', async () => {
    const owner = await app.made('POST', '/owners', { name: 'Example' })
    await app.made('PATCH', `/owners/${owner.id}`, { name: 'Example Shop' })
    const listed = await turnkeep('audit', '--subject', owner.id, '--verb', 'change')
    assert.match(listed.stdout, /^time .*\n.* admin token +change +owner +own_\w+ +name: Example → Example Shop +[0-9a-f-]{36}\n$/)
    const { data } = await json('audit', '--noun', 'owner', '--who', 'admin_token', '--limit', '1')
    assert.deepEqual(data[0].changes, { name: { before: 'Example', after: 'Example Shop' } })
    assert.equal((await turnkeep('audit', '--author', 'opr_x')).stderr, 'No results.\n')
    const csv = readCsv((await turnkeep('audit', '--subject', owner.id, '--csv')).stdout)
    assert.deepEqual(
      csv.map(({ verb, subject_id: id }) => [verb, id]),
      [
        ['change', owner.id],
        ['create', owner.id],
      ],
    )
    const both = await turnkeep('audit', '--csv', '--json')
    assert.deepEqual([both.code, both.stderr], [2, 'turnkeep: --csv and --json are two formats: remove one of them.\n'])
    assert.equal((await turnkeep('audit', '--csv', '--limit', '2')).code, 2)
  })
})
