/**
 * How MCP servers send an answer: with any content type, as JSON or as events, and in a stream that ends early and is continued by GET with
 * Last-Event-ID. Over real HTTP and the real guard. Whatever happens, a call is sent once.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { fakeTimers } from '../support/fake-timers.ts'
import { startCaller } from '../support/mcp-caller.ts'
import type { Caller } from '../support/mcp-caller.ts'
import { answer, event, json, result, said, sse, startScriptedMcp } from '../support/mcp-scripted-server.ts'
import type { Handler, ScriptedMcp, Seen } from '../support/mcp-scripted-server.ts'

/** How many variations the property generates, and how many calls run at a time. */
const variations = { framing: 120 }
const atATime = 32
const totalMs = 60_000

let server: ScriptedMcp
let caller: Caller
before(async () => {
  server = await startScriptedMcp()
  // Long enough for many calls at a time on a busy machine.
  caller = startCaller([server], { totalMs })
})
after(async () => {
  await caller.close()
  await server.close()
})
beforeEach(() => {
  for (const rpc of ['tools/call', 'GET', 'server/discover']) server.off(rpc)
})

const calls = (): number => server.callsOf('tools/call').length

/** Calls once, and returns the text. */
async function ask(args: Record<string, unknown> = {}): Promise<string> {
  const { text, isError } = await caller.ask(server, 'look', { args })
  return isError ? `ERROR ${text}` : text
}

describe('a stream that ends early', () => {
  /** Events of one answer, each with an ID, as a server that can continue a stream sends them. */
  const parts = (id: unknown, name: string): string[] => [
    `id: ${name}/0\nretry: 1\ndata: \n\n`,
    `id: ${name}/1\n${event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } })}`,
    `: still here\n\n`,
    `id: ${name}/2\n${event(result(id, said(`did ${name} – 天気`)))}`,
  ]

  void test('is continued by GET after the last whole event, when the server closes it to be polled', async () => {
    let polled = 0
    let asked: Seen
    server.on('tools/call', (seen, response) => {
      asked = seen
      response.writeHead(200, sse).end('id: e1\nretry: 300\ndata:\n\n')
    })
    server.on('GET', (seen, response) => {
      assert.deepEqual([seen.headers['last-event-id'], seen.headers.accept], ['e1', 'text/event-stream'])
      assert.deepEqual(
        ['mcp-session-id', 'mcp-protocol-version'].map((name) => seen.headers[name]),
        ['mcp-session-id', 'mcp-protocol-version'].map((name) => asked.headers[name]),
      )
      assert.equal(seen.headers['idempotency-key'], undefined)
      // Not finished the first time.
      response.writeHead(200, sse).end(polled++ === 0 ? ': nothing yet\n\n' : event(result(asked.id, said('done'))))
    })
    const before = calls()
    assert.equal(await ask(), 'done')
    assert.deepEqual([calls() - before, polled], [1, 2])
  })

  for (const [how, end] of [
    ['ends', (response: ServerResponse) => void response.end()],
    ['breaks', (response: ServerResponse) => void response.socket?.destroySoon()],
  ] as const)
    void test(`and ${how} after any of its bytes: the rest is read, or the outcome is unknown; the call is sent once`, async () => {
      const asked = new Map<string, Seen>()
      server.on('tools/call', (seen, response) => {
        const { name, cut } = seen.params.arguments
        asked.set(name, seen)
        response.writeHead(200, sse)
        response.flushHeaders()
        const bytes = Buffer.from(parts(seen.id, name).join('')).subarray(0, cut)
        if (bytes.length === 0) return end(response)
        response.write(bytes, () => end(response))
      })
      server.on('GET', (seen, response) => {
        const [name, index] = String(seen.headers['last-event-id']).split('/')
        const all = parts(asked.get(name!)!.id, name!)
        // The comment has no ID of its own.
        const rest = all.slice(Number(index) < 2 ? Number(index) + 1 : 4).join('')
        response.writeHead(200, sse).end(rest)
      })
      await caller.pin(server)
      const length = Buffer.byteLength(parts(999, 'c999').join(''))
      const firstEvent = Buffer.byteLength(parts(999, 'c999')[0]!)
      const before = calls()
      const cuts = Array.from({ length: length + 1 }, (_, cut) => cut)
      const pinned = await caller.pin(server)
      while (cuts.length > 0)
        await Promise.all(
          cuts.splice(0, atATime).map(async (cut) => {
            const name = `c${100 + cut}`
            const { text, isError } = await caller.ask(server, 'look', { pinned, args: { name, cut } })
            // Without an ID there is nothing to continue from.
            if (isError) assert.ok(cut < firstEvent && /Whether it took effect is not known/.test(text), `${cut}: ${text}`)
            else assert.equal(text, `did ${name} – 天気`)
            if (cut >= firstEvent) assert.equal(isError, false, `${cut}: ${text}`)
          }),
        )
      assert.equal(calls() - before, length + 1)
    })

  for (const status of [404, 405, 500])
    void test(`and whose rest is refused with ${status}: the outcome is unknown, and the call is not sent again`, async () => {
      server.on('tools/call', (_seen, response) => void response.writeHead(200, sse).end('id: e1\nretry: 1\ndata:\n\n'))
      server.on('GET', (_seen, response) => answer(response, status, {}))
      const before = calls()
      assert.match(await ask(), new RegExp(`^ERROR .*status ${status} for the rest of it. Whether it took effect is not known`))
      assert.equal(calls() - before, 1)
    })

  void test('without the rest, again and again, is given up at the deadline of the call', async (t) => {
    server.on('tools/call', (_seen, response) => void response.writeHead(200, sse).end('id: e1\nretry: 1\ndata:\n\n'))
    server.on('GET', (_seen, response) => void response.writeHead(200, sse).end())
    const timers = fakeTimers(t, (ms) => ms === totalMs)
    const [before, resumed] = [calls(), server.callsOf('GET').length]
    const asked = ask()
    await server.until(() => server.callsOf('GET').length > resumed + 2)
    timers.pass(totalMs)
    assert.match(await asked, /did not respond within 60 seconds. Whether it took effect is not known/)
    assert.equal(calls() - before, 1)
  })

  void test('is not continued from an ID that no header can carry', async () => {
    const before = server.callsOf('GET').length
    for (const id of ['', 'a\tb', 'ü', 'x'.repeat(600), ' ']) {
      server.on('tools/call', (_seen, response) => void response.writeHead(200, sse).end(`id: e1\nretry: 1\n\nid: ${id}\ndata:\n\n`))
      assert.match(await ask(), /^ERROR .*without a result/)
    }
    assert.equal(server.callsOf('GET').length, before)
  })
})

describe('strict where everybody else is tolerant', () => {
  const types = [
    undefined,
    '',
    'application/json',
    'Application/JSON; charset=UTF-8',
    'application/json-rpc',
    'application/vnd.x+json',
    'text/plain',
  ]
  const streams = ['text/event-stream', 'Text/Event-Stream;charset=utf-8', 'application/octet-stream']

  void test(`${variations.framing} ways to send an answer: any content type, JSON or events, any line ends, any pieces`, async () => {
    const frames = fc.record({
      type: fc.constantFrom(...types, ...streams),
      asEvents: fc.boolean(),
      lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
      before: fc.constantFrom('', '\ufeff', '\n', ' \n\n'),
      name: fc.constantFrom('', 'event: message\n', 'event:x\nid: 7\n', ': comment\n'),
      piece: fc.integer({ min: 1, max: 200 }),
      id: fc.constantFrom<(id: unknown) => unknown>(
        (id) => id,
        String,
        () => null,
        () => undefined,
      ),
    })
    const pinned = await caller.pin(server)
    await fc.assert(
      fc.asyncProperty(frames, async ({ type, asEvents, lineEnd, before, name, piece, id }) => {
        server.on('tools/call', async (seen, response) => {
          const message = JSON.stringify(result(id(seen.id), said('天気 ok')))
          const text = asEvents ? `${before}${name}data: ${message}\n\n`.replaceAll('\n', lineEnd) : before + message
          response.writeHead(200, type === undefined ? {} : { 'content-type': type })
          const bytes = Buffer.from(text)
          for (let at = 0; at < bytes.length; at += piece) response.write(bytes.subarray(at, at + piece))
          response.end()
        })
        assert.equal((await caller.ask(server, 'look', { pinned })).text, '天気 ok')
      }),
      { numRuns: variations.framing },
    )
  })

  void test('a server that sends anything to the first question of the newest protocol is used with an older one', async () => {
    const supported = { code: -32_022, message: 'unsupported version', data: { supported: ['2025-11-25'], requested: '2026-07-28' } }
    const responses: Handler[] = [
      (_seen, response) => void response.writeHead(202).end(),
      (_seen, response) => void response.writeHead(204).end(),
      (_seen, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello'),
      (_seen, response) => void response.writeHead(200, json).end('{'),
      (_seen, response) => void response.writeHead(200, sse).end(': nothing\n\n'),
      (seen, response) => answer(response, 200, result(seen.id, null)),
      (seen, response) => answer(response, 200, result(seen.id, { supportedVersions: ['2031-01-01'] })),
      (seen, response) => answer(response, 200, { jsonrpc: '2.0', id: seen.id, error: supported }),
      (seen, response) => answer(response, 400, { jsonrpc: '2.0', id: seen.id, error: supported }),
      (_seen, response) => answer(response, 500, 'no'),
    ]
    for (const handler of responses) {
      server.on('server/discover', handler)
      assert.equal((await caller.pin(server)).length, 1)
    }
  })

  void test('a ping during a call gets its reply, other requests are refused, and unknown notifications are skipped', async () => {
    const asked = ['ping', 'sampling/createMessage', 'roots/list', 'elicitation/create', 'tasks/unheard-of']
    server.on('tools/call', async (seen, response) => {
      response.writeHead(200, sse)
      const from = server.callsOf('answer').length
      for (const [n, method] of asked.entries()) response.write(event({ jsonrpc: '2.0', id: n % 2 ? n : `s${n}`, method, params: null }))
      response.write(event({ jsonrpc: '2.0', method: 'notifications/unheard-of', params: [] }))
      await server.until(() => server.callsOf('answer').length === from + asked.length)
      response.end(event(result(seen.id, said('done'))))
    })
    assert.equal(await ask(), 'done')
    const replies = new Map(server.callsOf('answer').map(({ message }) => [message.id, message.error?.code ?? message.result]))
    assert.deepEqual(
      [replies.get('s0'), replies.get(1), replies.get('s2'), replies.get(3), replies.get('s4')],
      [{}, -32_601, -32_601, -32_601, -32_601],
    )
  })
})
