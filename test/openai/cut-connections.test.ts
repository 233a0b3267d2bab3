/**
 * The official client with its own retries, behind a proxy that cuts the connection of every first try after its turn was admitted: while the
 * model generates, when a stream starts, and when the answer is ready. `TEST_CUTS=1000` for the run before a release.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request as send, createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'
import { openAiClient } from '../support/openai-caller.ts'

const cuts = Number(process.env['TEST_CUTS'] ?? 20)
const atATime = 10
const moments = ['generating', 'stream', 'answer'] as const

/** Cuts the first try of each message, whose text starts with its moment. */
async function startCuttingProxy(app: TestApp, generating: Map<string, () => void>) {
  const target = new URL(app.url)
  let cut = 0
  const server = createServer((request, response) => void pass(request, response))

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request)
    const message = /(generating|stream|answer) \d+/.exec(body.toString())![0]
    const isFirst = request.headers['x-stainless-retry-count'] === '0'
    const { method, url: path, headers } = request
    const upstream = send({ host: target.hostname, port: target.port, method, path, headers, agent: false })
    const drop = (): void => {
      cut++
      response.destroy()
    }
    if (isFirst && message.startsWith('generating')) generating.set(message, drop)
    upstream.end(body)
    const [answer] = (await once(upstream, 'response')) as [IncomingMessage]
    if (isFirst && !message.startsWith('generating')) drop()
    // The turn belongs to the server, whether or not its answer is read.
    if (response.destroyed) return void answer.resume()
    response.writeHead(answer.statusCode!, answer.headers)
    answer.pipe(response)
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get cut() {
      return cut
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

type Count = { turns: number; charges: number; cut: number; replies: string[] }

async function askAll(withKey: boolean): Promise<Count> {
  await using app = await startTestApp({ balanceUsd: '1000' })
  const generating = new Map<string, () => void>()
  app.model.when(/./, ({ lastUserMessage }) => {
    generating.get(lastUserMessage)?.()
    const held = gate()
    setTimeout(() => held.open(), lastUserMessage.startsWith('generating') ? 400 : 0)
    return [held, `reply to ${lastUserMessage}`]
  })
  await using proxy = await startCuttingProxy(app, generating)
  const client = openAiClient(app, { baseURL: `${proxy.url}/v1`, maxRetries: 5 })
  const replies: string[] = []
  let next = 0
  async function askOn(): Promise<void> {
    for (let index = next++; index < cuts; index = next++) {
      const moment = moments[index % moments.length]!
      const request = { model: 'test-agent', user: `user-${index}`, messages: [{ role: 'user' as const, content: `${moment} ${index}` }] }
      const headers: Record<string, string> = withKey ? { 'Idempotency-Key': randomUUID() } : {}
      if (moment === 'stream') {
        const stream = client.chat.completions.stream(request, { headers })
        replies.push((await stream.finalChatCompletion()).choices[0]!.message.content!)
      } else replies.push((await client.chat.completions.create(request, { headers })).choices[0]!.message.content!)
    }
  }
  await Promise.all(Array.from({ length: atATime }, askOn))
  const [{ turns }] = (await app.query('select count(*) as turns from turns')) as [{ turns: unknown }]
  const [{ charges }] = (await app.query(`select count(*) as charges from ledger where kind = 'charge'`)) as [{ charges: unknown }]
  await app.verify()
  return { turns: Number(turns), charges: Number(charges), cut: proxy.cut, replies }
}

const wanted = Array.from({ length: cuts }, (_, index) => `reply to ${moments[index % moments.length]} ${index}`).toSorted()

void test('openai.same-turn: cut after the admission, the official client gets each reply with one turn and one charge, with a key', async () => {
  const { turns, charges, cut, replies } = await askAll(true)
  assert.deepEqual(replies.toSorted(), wanted)
  assert.deepEqual({ turns, charges, cut }, { turns: cuts, charges: cuts, cut: cuts })
})

void test('openai.retry-joins: the same without a key: measured, and no reply is missing', async (t) => {
  const { turns, charges, cut, replies } = await askAll(false)
  assert.deepEqual([replies.toSorted(), cut], [wanted, cuts])
  assert.equal(turns, charges)
  assert.ok(turns >= cuts)
  t.diagnostic(
    `${cuts} cuts, ${turns} turns and charges: ${(100 * (2 * cuts - turns)) / cuts} % of the retries joined the turn of their first try`,
  )
})
