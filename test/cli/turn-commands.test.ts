/** `turnkeep turn cancel` and `turn follow`, and `feedback list`, against the real service. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gate } from '../support/model-server.ts'
import type { Gate } from '../support/model-server.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp } from '../support/test-app.ts'
import { openTerminal, withoutTerminal } from './terminal-session.ts'

let app: TestApp
before(async () => {
  app = await startTestApp()
})
after(() => app.close())

const environment = (url = app.url): Record<string, string> => ({ TURNKEEP_PUBLIC_URL: url, TURNKEEP_ADMIN_TOKEN: adminToken })
const turnkeep = (...args: string[]): Promise<Ran> => runCommand(args, environment())

/** A turn that has come to the gate. */
async function startTurn(user: string, held: Gate): Promise<{ requestId: string; answer: Promise<Answer> }> {
  const answer = app.chat('hi', { user })
  await held.reached
  const [turn] = (await app.made('GET', '/turns?status=running')).data
  return { requestId: turn.request_id, answer }
}

describe('turnkeep turn cancel', () => {
  test('turn.cancel: cancels a turn before and after its text, and says what happened; turn list and turn show show it', async () => {
    const early = gate()
    app.model.script([early, 'too late'])
    const first = await startTurn('early', early)
    const cancelled = await turnkeep('turn', 'cancel', first.requestId)
    assert.deepEqual([cancelled.code, cancelled.stdout, cancelled.stderr], [0, '', 'Cancelled before any text. Nothing was charged.\n'])
    assert.equal((await first.answer).json.error.code, 'turn_cancelled')
    early.open()
    assert.equal((await turnkeep('turn', 'cancel', first.requestId)).stderr, cancelled.stderr, 'it can be repeated')
    const listed = JSON.parse((await turnkeep('turn', 'list', '--status', 'cancelled', '--json')).stdout) as Json
    assert.deepEqual(
      listed.data.map((turn: Json) => turn.request_id),
      [first.requestId],
    )

    const late = gate()
    app.model.script(['The first half', late, ' and more'])
    const second = await startTurn('late', late)
    const { stderr } = await turnkeep('turn', 'cancel', second.requestId)
    assert.match(stderr, /^Completed, incomplete: cancelled after this text\. 0\.\d{8} USD charged\.\n$/)
    assert.equal((await second.answer).json.message.content, 'The first half')
    app.model.script(['The parcel is', { finish: 'length' }])
    const { json: cut } = await app.chat('cut')
    assert.match(
      (await turnkeep('turn', 'cancel', cut.request_id)).stderr,
      /^Completed, incomplete: cut off at the token limit\. 0\.\d{8} USD charged\.\n$/,
    )
    assert.match((await turnkeep('turn', 'show', cut.request_id)).stdout, /^finish_reason +length$/m)
    assert.match((await turnkeep('conversation', 'messages', cut.conversation_id)).stdout, / assistant .* length .* The parcel is\n/)
    app.model.script(['It is', { finish: 'content_filter' }])
    const { stderr: spent } = await turnkeep('chat', app.caller.agentId, '--message', 'where?', '--user', 'cut')
    assert.match(spent, / · cut off by a content filter\n$/)
    late.open()
    const shown = (await turnkeep('turn', 'show', second.requestId)).stdout
    assert.match(shown, /^status +completed$/m)
    assert.match(shown, /^incomplete +yes$/m)
    assert.match(shown, /^cancel_requested_at +\d{4}-/m)
    const json = JSON.parse((await turnkeep('turn', 'cancel', second.requestId, '--json')).stdout) as Json
    assert.deepEqual(json, await app.made('GET', `/turns/${second.requestId}`))
    const unknown = await turnkeep('turn', 'cancel', 'none')
    assert.deepEqual([unknown.code, unknown.stdout], [1, ''])
    assert.match(unknown.stderr, /^turnkeep: This turn does not exist\. \(not_found, 404, request /)
  })
})

describe('turnkeep turn follow', () => {
  test(
    'stream.resume: continues after each lost connection with the last event, and prints no text twice',
    { skip: withoutTerminal, timeout: 60_000 },
    async (t) => {
      const proxy = await startFaultProxy(Number(new URL(app.url).port))
      t.after(() => proxy.close())
      const gates = [gate(), gate(), gate()] as const
      app.model.script(['One ', gates[0], 'two ', gates[1], 'three ', gates[2], 'four'])
      const { requestId, answer } = await startTurn('followed', gates[0])
      const terminal = openTerminal(['turn', 'follow', requestId], environment(proxy.through(app.url)))
      for (const [index, word] of ['One', 'two', 'three'].entries()) {
        await terminal.shows(new RegExp(word))
        proxy.reset()
        await terminal.shows(/: continuing in \d\S* s\n/)
        gates[index]!.open()
      }
      assert.equal(await terminal.ended, 0)
      const { json } = await answer
      const lines = terminal.screen.split('\n').filter((line) => !line.includes('continuing in'))
      assert.equal(
        lines.join('').replaceAll(/ +/g, ''),
        `Onetwothreefour${`Completed. ${json.usage.charged_usd} USD charged.`.replaceAll(' ', '')}`,
      )
    },
  )

  test('an ended turn is printed at once; without a reply the exit code is 1, and --json prints the turn', async () => {
    app.model.script(['A line\n', 'and another'])
    const { json: reply } = await app.chat('hi', { user: 'ended' })
    const ended = await turnkeep('turn', 'follow', reply.request_id)
    assert.deepEqual([ended.code, ended.stdout], [0, 'A line\nand another\n'])
    const json = JSON.parse((await turnkeep('turn', 'follow', reply.request_id, '--json')).stdout) as Json
    assert.deepEqual(json, await app.made('GET', `/turns/${reply.request_id}`))
    app.model.script({ status: 400, body: { error: { message: 'no such model' } } })
    const { json: refused } = await app.chat('hi', { user: 'ended' })
    const failed = await turnkeep('turn', 'follow', refused.error.request_id)
    assert.deepEqual([failed.code, failed.stdout], [1, ''])
    assert.match(failed.stderr, /^turnkeep: Released \(internal_error\): .*no such model.*\. Nothing was charged\. If the caller retries/)
    const unknown = await turnkeep('turn', 'follow', 'none')
    assert.match(unknown.stderr, /^turnkeep: This turn does not exist\. \(not_found, 404, request /)
    assert.equal(unknown.code, 1)
  })

  test(
    'at a terminal the text is live and safe; Ctrl-C ends the command and the turn goes on',
    { skip: withoutTerminal, timeout: 60_000 },
    async () => {
      const held = gate()
      app.model.script(['Good day \u001b[31m', 'to ', held, 'you.'])
      const { requestId, answer } = await startTurn('terminal', held)
      const terminal = openTerminal(['turn', 'follow', requestId], environment())
      await terminal.shows(/Good day \\u\{1b\}\[31m/)
      terminal.type('\u0003')
      await terminal.shows(/stopped following\. The turn continues: npx --no-install turnkeep turn follow/)
      assert.equal(await terminal.ended, 2)
      held.open()
      assert.equal((await answer).status, 200)
    },
  )
})

describe('turnkeep feedback', () => {
  test('feedback: list prints what end users gave, with filters; turn show shows it with the turn', async () => {
    const { json: one } = await app.chat('hi', { user: 'a' })
    const { json: two } = await app.chat('hi', { user: 'b' })
    const give = async (requestId: string, feedback: Json): Promise<void> => {
      assert.equal((await app.chatRequest(feedback, { path: `turns/${requestId}/feedback` })).status, 200)
      await app.moveClock(1)
    }
    await give(one.request_id, { rating: 'up' })
    await give(two.request_id, { rating: 'down', comment: 'Wrong\nprice \u001b[31m', tags: ['wrong', 'price'] })
    const { stdout } = await turnkeep('feedback', 'list')
    assert.match(
      stdout,
      /^changed \(UTC\) +rating +tags +comment +status +agent +request ID\n.* down +wrong, price +Wrong price \\u\{1b\}\[31m +completed .*\n.* up +/,
    )
    const filtered = JSON.parse(
      (await turnkeep('feedback', 'list', '--agent', 'Test agent', '--rating', 'down', '--tag', 'wrong', '--json')).stdout,
    ) as Json
    assert.deepEqual(filtered, await app.made('GET', '/feedback?rating=down'))
    assert.equal((await turnkeep('feedback', 'list', '--tag', 'none')).stderr, 'No results.\n')
    const shown = (await turnkeep('turn', 'show', two.request_id)).stdout
    assert.match(shown, /^feedback\.rating +down$/m)
    assert.match(shown, /^feedback\.tags +wrong, price$/m)
    assert.match((await turnkeep('turn', 'show', one.request_id)).stdout, /^feedback\.comment +-$/m)
  })
})
