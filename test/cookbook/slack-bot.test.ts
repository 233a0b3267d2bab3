/** docs/cookbook/slack-bot.md: its bot between a fake Slack and the real service. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { layOut, startProgram } from '../support/cookbook-program.ts'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'

type Post = { channel: string; thread_ts: string; text: string; authorization: string | undefined }

/** The part of Slack that the bot calls; `next` resolves with the next post. */
async function startSlack(t: TestContext): Promise<{ url: string; posts: Post[]; next(): Promise<Post> }> {
  const posts: Post[] = []
  const server = createServer((request, response) => {
    request.setEncoding('utf8')
    let body = ''
    request.on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      posts.push({ ...(JSON.parse(body) as Post), authorization: request.headers.authorization })
      response.setHeader('content-type', 'application/json').end('{"ok":true}')
      server.emit('posted')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.closeAllConnections())
  t.after(() => server.close())
  let taken = 0
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posts,
    async next() {
      if (posts.length === taken) await once(server, 'posted')
      return posts[taken++]!
    },
  }
}

const secret = 'signing-secret'
const mention = (id: string, text: string, more = {}): object => ({
  type: 'event_callback',
  event_id: id,
  team_id: 'T1',
  event: { type: 'app_mention', user: 'U1', channel: 'C1', ts: '1700000000.000100', text: `<@UBOT> ${text}`, ...more },
})

async function deliver(url: string, body: object, given: { secret?: string; at?: number } = {}): Promise<Response> {
  const text = JSON.stringify(body)
  const at = given.at ?? Math.floor(Date.now() / 1000)
  const signature = `v0=${createHmac('sha256', given.secret ?? secret)
    .update(`v0:${at}:${text}`)
    .digest('hex')}`
  return fetch(`${url}/slack/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-slack-request-timestamp': String(at), 'x-slack-signature': signature },
    body: text,
  })
}

void test('cookbook/slack-bot: each event is answered once, however often it is delivered and whenever the bot dies', async (t) => {
  await using app = await startTestApp()
  const slack = await startSlack(t)
  const { folder, remove } = layOut('slack-bot.md')
  t.after(remove)
  const environment = {
    AGENT_URL: app.url,
    AGENT_ID: app.caller.agentId,
    API_KEY: app.caller.apiKey,
    SLACK_URL: slack.url,
    SLACK_SIGNING_SECRET: secret,
    SLACK_BOT_TOKEN: 'xoxb-test',
    INBOX: join(folder, 'inbox.db'),
  }
  let bot = await startProgram(folder, 'bot.mts', environment)
  t.after(() => bot.kill())

  const challenge = await deliver(bot.url, { type: 'url_verification', challenge: 'c1' })
  assert.deepEqual(await challenge.json(), { challenge: 'c1' })
  assert.equal((await deliver(bot.url, mention('Ev0', 'x'), { secret: 'wrong' })).status, 401)
  assert.equal((await deliver(bot.url, mention('Ev0', 'x'), { at: Date.now() / 1000 - 600 })).status, 401)

  // The same event three times, as Slack resends it after a timeout.
  app.model.script('Within thirty days.')
  for (let delivery = 1; delivery <= 3; delivery++) assert.equal((await deliver(bot.url, mention('Ev1', 'Returns?'))).status, 200)
  const reply = { channel: 'C1', thread_ts: '1700000000.000100', text: 'Within thirty days.', authorization: 'Bearer xoxb-test' }
  assert.deepEqual(await slack.next(), reply)

  // None of these is a question: the bot's own messages, an edit, other messages in a channel.
  for (const event of [{ bot_id: 'B1' }, { subtype: 'message_changed' }, { type: 'message', channel_type: 'channel' }, { text: '<@UBOT>' }])
    assert.equal((await deliver(bot.url, mention('Ev2', 'x', event))).status, 200)

  // Killed after Slack's request was acknowledged, in the middle of the reply; two more questions of the thread wait behind it.
  const held = gate()
  app.model.when('slow', ['Sl', held, 'ow.'])
  assert.equal((await deliver(bot.url, mention('Ev3', 'slow'))).status, 200)
  await held.reached
  for (const id of ['Ev4', 'Ev5']) assert.equal((await deliver(bot.url, mention(id, id, { thread_ts: '1700000000.000100' }))).status, 200)
  await bot.kill()
  held.open()
  bot = await startProgram(folder, 'bot.mts', environment)
  assert.equal((await slack.next()).text, 'Slow.')
  assert.equal((await slack.next()).text, 'You said: Ev4')
  assert.equal((await slack.next()).text, 'You said: Ev5')

  assert.equal(slack.posts.length, 4)
  assert.equal(app.model.calls.length, 4)
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 4)
  const said = await app.messages('T1:C1:1700000000.000100')
  assert.deepEqual(
    said.filter(({ role }) => role === 'user').map(({ content }) => content),
    ['Returns?', 'slow', 'Ev4', 'Ev5'],
  )
})
