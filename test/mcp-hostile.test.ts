/**
 * MCP servers that hang, flood, lie or break the protocol, over real HTTP and the real guard: an error result, limited in time and size,
 * and never a second call.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { PinnedTool } from '../src/agent/tools/tool-config.ts'
import { fakeTimers } from './support/fake-timers.ts'
import { startCaller } from './support/mcp-caller.ts'
import type { Caller } from './support/mcp-caller.ts'
import { answer, event, json, result, said, sse, startScriptedMcp, tool } from './support/mcp-scripted-server.ts'
import type { Handler, ScriptedMcp, Seen } from './support/mcp-scripted-server.ts'

const secret = 'Bearer tok_0123456789abcdef'
const headers = { authorization: secret }

let server: ScriptedMcp
let caller: Caller
beforeEach(async () => {
  server = await startScriptedMcp()
  caller = startCaller([server])
})
afterEach(async () => {
  await caller.close()
  await server.close()
})

/** Writes for as long as the client reads; returns how many bytes that were. */
async function pour(response: ServerResponse, piece: string): Promise<number> {
  const closed = new Promise<void>((resolve) => response.once('close', resolve))
  let bytes = 0
  while (!response.destroyed && bytes < 1_073_741_824) {
    bytes += piece.length
    if (!response.write(piece)) await Promise.race([new Promise<void>((resolve) => response.once('drain', resolve)), closed])
  }
  return bytes
}

// What Node and the kernel buffer on both sides of a socket, generously; of a gigabyte.
const heldOnTheWay = 33_554_432

async function refusedBy(handler: Handler): Promise<string> {
  server.on('tools/call', handler)
  const outcome = await caller.ask(server, 'look', { headers })
  assert.equal(outcome.isError, true, outcome.text)
  assert.equal(server.callsOf('tools/call').length, 1, 'called once')
  assert.ok(!outcome.text.includes('0123456789') && !caller.logText().includes('0123456789'), 'no secret')
  return outcome.text
}

test('tools.private: a server that repeats the arguments in its error: the model gets its words, and the log none of them', async () => {
  server.on('tools/call', (seen, response) =>
    answer(response, 200, { jsonrpc: '2.0', id: seen.id, error: { code: -32_602, message: `invalid: ${JSON.stringify(seen.params)}` } }),
  )
  const { text, isError } = await caller.ask(server, 'look', { args: { secret: 'CANARY-4711' } })
  assert.equal(isError, true)
  assert.match(text, /CANARY-4711/)
  assert.match(caller.logText(), /"reason":"the server returned the error -32602"/)
  assert.doesNotMatch(caller.logText(), /CANARY/)
})

describe('endless responses', () => {
  const hangs: [string, Handler][] = [
    ['before its headers', () => undefined],
    ['after its headers', (_seen, response) => void response.writeHead(200, json).flushHeaders()],
    ['during its JSON', (_seen, response) => void response.writeHead(200, json).write('{"jsonrpc":"2.0","id":')],
    ['in a stream of keep-alives', (_seen, response) => drip(response, ': still here\n\n')],
    [
      'in a stream of progress',
      (_seen, response) => drip(response, event({ jsonrpc: '2.0', method: 'notifications/progress', params: {} })),
    ],
  ]
  function drip(response: ServerResponse, piece: string): void {
    response.writeHead(200, sse)
    const timer = setInterval(() => response.write(piece), 20)
    response.once('close', () => clearInterval(timer))
  }

  void test('fault.tool-hostile: a tool that hangs is aborted, its connection closed and the server notified', async (t) => {
    const pinned = await caller.pin(server)
    const timers = fakeTimers(t, (ms) => ms === 10_000)
    const calls = await Promise.all(hangs.map(([where, handler]) => hang(t, where, handler, pinned)))
    // What has been sent is received by then. On a busy machine it may not be, with the same result.
    await pass(100)
    timers.pass(10_000)
    for (const { where, slow, asked, isClosed } of calls) {
      const { text, isError } = await asked
      assert.deepEqual(
        [isError, text],
        [true, 'Error: the tool call failed: its server did not respond within 10 seconds. Whether it took effect is not known.'],
        where,
      )
      await slow.until(() => isClosed() && slow.callsOf('notifications/cancelled').length === 1)
      const sent = slow.callsOf('tools/call')
      assert.deepEqual([sent.length, slow.callsOf('notifications/cancelled')[0]!.params.requestId], [1, sent[0]!.id], where)
    }
  })

  /** A call that has arrived at a server of its own, which does this. */
  async function hang(t: TestContext, where: string, handler: Handler, pinned: PinnedTool[]) {
    const slow = await startScriptedMcp()
    const own = startCaller([slow])
    t.after(async () => {
      await own.close()
      await slow.close()
    })
    let closed = false
    slow.on('tools/call', (seen, response) => {
      response.once('close', () => void (closed = true))
      return handler(seen, response)
    })
    const asked = own.ask(slow, 'look', { pinned })
    await slow.until(() => slow.callsOf('tools/call').length === 1)
    return { where, slow, asked, isClosed: () => closed }
  }

  void test('a read-only call and one that was not sent are not reported as possibly executed', async () => {
    server.offer([tool('look', { annotations: { readOnlyHint: true } })])
    const reading = await refusedBy((_seen, response) => void response.destroy())
    assert.match(reading, /closed the connection before sending a complete response \([A-Z_]+\)\.$/)
    server.offer([tool('look')])
    const pinned = await caller.pin(server)
    await caller.mcp.close()
    server.on('initialize', (_seen, response) => void response.destroy())
    const unsent = await caller.ask(server, 'look', { pinned, headers: { 'x-other': 'session' } })
    assert.deepEqual([unsent.isError, /took effect/.test(unsent.text), server.callsOf('tools/call').length], [true, false, 1], unsent.text)
  })

  void test('a call without a connection is not reported as possibly executed', async () => {
    const brief = await startScriptedMcp()
    const asking = startCaller([brief])
    try {
      const pinned = await asking.pin(brief)
      await asking.ask(brief, 'look', { pinned })
      await brief.close()
      const { text } = await asking.ask(brief, 'look', { pinned })
      assert.match(text, /^Error: the tool call failed: the server refused the connection/)
      assert.doesNotMatch(text, /took effect/)
    } finally {
      await asking.close()
    }
  })

  void test('fault.tool-hostile: 1 GB of JSON is an error after the first MiB', async () => {
    const poured = Promise.withResolvers<number>()
    const text = await refusedBy((_seen, response) => {
      response.writeHead(200, json)
      poured.resolve(pour(response, 'x'.repeat(65_536)))
    })
    assert.match(text, /exceeds 1048576 bytes/)
    assert.ok((await poured.promise) < heldOnTheWay)
  })

  void test('fault.tool-hostile: 1 GB of notifications is an error after the first MiB', async () => {
    const poured = Promise.withResolvers<number>()
    const note = event({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'x'.repeat(1000) } })
    const text = await refusedBy((_seen, response) => {
      response.writeHead(200, sse)
      poured.resolve(pour(response, note.repeat(50)))
    })
    assert.match(text, /exceeds 1048576 bytes/)
    assert.ok((await poured.promise) < heldOnTheWay)
  })

  void test('fault.tool-hostile: a gzip bomb is an error after the first MiB it decodes to', async () => {
    const bomb = gzipSync(Buffer.alloc(134_217_728, 0x20))
    const text = await refusedBy((_seen, response) => {
      response.writeHead(200, { ...json, 'content-encoding': 'gzip' })
      response.end(bomb)
    })
    assert.match(text, /exceeds 1048576 bytes/)
  })

  void test('a line of 2 MiB in a stream is an error', async () => {
    const text = await refusedBy((_seen, response) => {
      response.writeHead(200, sse)
      response.end(`data: ${'x'.repeat(2_097_152)}\n\n`)
    })
    assert.match(text, /too large|exceeds/)
  })
})

describe('invalid responses', () => {
  const broken: [string, Handler, RegExp][] = [
    ['not JSON', (_seen, response) => answer(response, 200, '{"jsonrpc":'), /invalid JSON\b/],
    ['another content type', (_seen, response) => answer(response, 200, '<p>hi', { 'content-type': 'text/html' }), /neither JSON nor/],
    ['not JSON-RPC', (seen, response) => answer(response, 200, { id: seen.id, answer: 42 }), /invalid JSON-RPC/],
    [
      'a stream of a hundred thousand invalid messages',
      (_seen, response) => void response.writeHead(200, sse).end('data:{\n\n'.repeat(100_000)),
      /more than 8192 events/,
    ],
    [
      'too many content parts',
      (seen, response) => answer(response, 200, result(seen.id, { content: Array.from({ length: 300_000 }, () => ({})) })),
      /more than 8192 parts/,
    ],
    ['null', (_seen, response) => answer(response, 200, 'null'), /without a result/],
    ['an empty list', (_seen, response) => answer(response, 200, []), /without a result/],
    [
      'JSON of a hundred thousand brackets',
      (_seen, response) => answer(response, 200, '['.repeat(100_000) + ']'.repeat(100_000)),
      /without a result/,
    ],
    ['an answer to another request', (_seen, response) => answer(response, 200, result(999, said('not yours'))), /without a result/],
    [
      'a stream that ends',
      (_seen, response) => void response.writeHead(200, sse).end(event(result(999, said('not yours')))),
      /without a result/,
    ],
    [
      '202, and nothing follows',
      (_seen, response) => void response.writeHead(202).end(),
      /without a result.*Whether it took effect is not known\.$/,
    ],
    ['204', (_seen, response) => void response.writeHead(204).end(), /without a result/],
    ['500', (_seen, response) => answer(response, 500, `<h1>Error ${secret}</h1>`), /returned status 500/],
    ['429', (_seen, response) => answer(response, 429, {}, { 'retry-after': '1' }), /returned status 429/],
    ['400', (_seen, response) => answer(response, 400, {}), /returned status 400/],
    [
      'a reset after its headers',
      (_seen, response) => void response.writeHead(200, json).write('{', () => response.destroy()),
      /(incomplete|closed the connection|request failed).*Whether it took effect is not known\.$/,
    ],
    ['an immediate reset', (_seen, response) => void response.destroy(), /closed the connection.*Whether it took effect is not known\.$/],
  ]
  for (const [what, handler, words] of broken)
    void test(`${what}: an error result, and the call is not sent again`, async () => {
      assert.match(await refusedBy(handler), words)
    })

  void test('responses to other requests, notifications and unknown messages before the response are ignored', async () => {
    server.on('tools/call', (seen, response) => {
      response.writeHead(200, sse)
      response.write(event(result(999, said('not yours'))) + event(result(`${seen.id}x`, said('not yours either'))))
      response.write(`data: \n\ndata: {"jsonrpc":\n\n: a comment\n\n${event([]) + event(null) + event(7)}`)
      for (let n = 0; n < 5000; n++) response.write(event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: n } }))
      response.end(event(result(seen.id, said('yours'))) + event(result(seen.id, said('too late'))))
    })
    assert.deepEqual(await caller.ask(server, 'look'), { text: 'yours', isError: false, answered: true, passages: [] })
  })

  void test('a response among others in one message is found, as JSON and in a stream', async () => {
    const packed = (seen: Seen): object[] => [result(999, said('not yours')), result(seen.id, said('yours'))]
    server.on('tools/call', (seen, response) => answer(response, 200, packed(seen)))
    assert.equal((await caller.ask(server, 'look')).text, 'yours')
    server.on('tools/call', (seen, response) => void response.writeHead(200, sse).end(event(packed(seen))))
    assert.equal((await caller.ask(server, 'look')).text, 'yours')
  })

  void test('a stream that its server does not end is closed when the response has arrived', async () => {
    await caller.close()
    // So long that only the response can be what ends it.
    caller = startCaller([server], { totalMs: 600_000 })
    let closed = false
    server.on('tools/call', (seen, response) => {
      response.once('close', () => void (closed = true))
      response.writeHead(200, sse)
      response.write(event(result(seen.id, said('here'))))
    })
    assert.equal((await caller.ask(server, 'look')).text, 'here')
    await server.until(() => closed)
  })

  void test('a JSON-RPC error is returned with its message, on one line, and header values in it are redacted', async () => {
    const text = await refusedBy((seen, response) =>
      answer(response, 200, {
        jsonrpc: '2.0',
        id: seen.id,
        error: { code: -32602, message: `no\n such\u0007 thing for ${secret}, tok_0123456789abcdef ${'!'.repeat(9999)}` },
      }),
    )
    assert.match(text, /^Error: the tool call failed: no such thing for \[secret\], \[secret\] !+\.$/)
    assert.ok(text.length < 600)
  })

  void test('header values in a result are redacted', async () => {
    server.on('tools/call', (seen, response) => answer(response, 200, result(seen.id, said(`you are ${seen.headers.authorization}`))))
    assert.equal((await caller.ask(server, 'look', { headers })).text, 'you are [secret]')
  })

  void test('tools.private: the password of Basic authentication is removed from a result and from an error', async () => {
    const own = { headers: { authorization: `Basic ${Buffer.from('shop-user:plain-word').toString('base64')}` } }
    const repeated = 'shop-user:plain-word, plain-word of shop-user'
    server.on('tools/call', (seen, response) => answer(response, 200, result(seen.id, said(repeated))))
    assert.equal((await caller.ask(server, 'look', own)).text, '[secret], [secret] of shop-user')
    server.on('tools/call', (seen, response) =>
      answer(response, 200, { jsonrpc: '2.0', id: seen.id, error: { code: -32602, message: repeated } }),
    )
    const failed = await caller.ask(server, 'look', own)
    assert.equal(failed.text, 'Error: the tool call failed: [secret], [secret] of shop-user.')
    assert.ok(!caller.logText().includes('plain-word'))
  })
})

describe('requests by the server', () => {
  void test('a request without a method or with an invalid ID gets no reply', async () => {
    server.on('tools/call', (seen, response) => {
      response.writeHead(200, sse)
      for (let n = 0; n < 4; n++) response.write(event({ jsonrpc: '2.0', id: `s${n}`, method: n }))
      for (const id of [null, {}, 0.5]) response.write(event({ jsonrpc: '2.0', id, method: 'roots/list', params: {} }))
      response.end(event(result(seen.id, said('without it, then'))))
    })
    assert.equal((await caller.ask(server, 'look')).text, 'without it, then')
    assert.equal((await caller.ask(server, 'look')).text, 'without it, then')
    assert.deepEqual(server.callsOf('answer'), [])
  })

  void test('sampling, elicitation and roots are refused, four at most, and the call continues', async () => {
    const asked = ['sampling/createMessage', 'elicitation/create', 'roots/list']
    server.on('tools/call', async (seen, response) => {
      response.writeHead(200, sse)
      for (let n = 0; n < 300; n++) response.write(event({ jsonrpc: '2.0', id: `s${n}`, method: asked[n % 3], params: {} }))
      await server.until(() => server.callsOf('answer').length === 4)
      response.end(event(result(seen.id, said('without it, then'))))
    })
    assert.equal((await caller.ask(server, 'look')).text, 'without it, then')
    const refusals = server.callsOf('answer').map(({ message }) => [message.id, message.error?.code])
    assert.deepEqual(
      refusals.toSorted(),
      [0, 1, 2, 3].map((n) => [`s${n}`, -32601]),
    )
    assert.ok(server.callsOf('answer').every((one) => one.headers['idempotency-key'] === undefined))
  })

  void test('no stream is opened for server requests', async () => {
    await caller.ask(server, 'look')
    assert.deepEqual(server.callsOf('GET'), [])
  })

  void test('401 is a plain error: no discovery, no further request, no credentials but the headers', async () => {
    const refuse: Handler = (_seen, response) =>
      answer(response, 401, {}, { 'www-authenticate': `Bearer resource_metadata="${server.url}/.well-known/oauth-protected-resource"` })
    const text = await refusedBy(refuse)
    assert.equal(text, 'Error: the tool call failed: the server returned status 401: check the credentials in its headers.')
    for (const rpc of ['server/discover', 'initialize']) server.on(rpc, refuse)
    await assert.rejects(caller.pin(server, null, { authorization: 'Bearer other-0123456789' }), /returned status 401/)
    assert.deepEqual([...new Set(server.seen.map(({ http, path }) => `${http} ${path}`))].toSorted(), ['DELETE /mcp', 'POST /mcp'])
  })

  for (const status of [301, 302, 303, 307, 308])
    void test(`fault.private-address: a redirect (${status}) is refused, and nothing arrives at its target`, async () => {
      const other = await startScriptedMcp()
      try {
        const text = await refusedBy((_seen, response) => void response.writeHead(status, { location: other.url }).end())
        assert.match(text, /redirect/)
        assert.deepEqual(other.seen, [])
      } finally {
        await other.close()
      }
    })

  void test('fault.private-address: a private address that the settings do not allow is refused before a byte is sent', async () => {
    const stranger = startCaller([])
    try {
      const outcome = await stranger.ask(server, 'look', { pinned: await caller.pin(server) })
      const arrived = server.seen.length
      assert.deepEqual([outcome.isError, outcome.text], [true, 'Error: the tool call failed: the address must start with https://.'])
      await assert.rejects(stranger.pin(server), /must start with https.*to TURNKEEP_ALLOW_PRIVATE_HOSTS$/)
      assert.equal(server.seen.length, arrived)
    } finally {
      await stranger.close()
    }
  })

  void test('a tool that requests input again and again is called once', async () => {
    modern()
    const text = await refusedBy((seen, response) =>
      answer(response, 200, result(seen.id, { resultType: 'input_required', requestState: 'again' })),
    )
    assert.match(text, /further input/)
  })
})

/** A server without sessions, as in the protocol of 2026-07-28. */
function modern(): void {
  const whole = (value: object): object => ({ resultType: 'complete', ...value })
  server.on('server/discover', (seen, response) =>
    answer(response, 200, result(seen.id, whole({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }))),
  )
  server.on('tools/list', (seen, response) => answer(response, 200, result(seen.id, whole({ tools: [tool('look')] }))))
  server.on('tools/call', (seen, response) => answer(response, 200, result(seen.id, whole(said(`did ${seen.params.name}`)))))
}

describe('protocol versions', () => {
  void test('without sessions: method and name are in headers, and no session is opened or closed', async () => {
    modern()
    assert.equal((await caller.ask(server, 'look')).text, 'did look')
    await caller.mcp.close()
    const [call] = server.callsOf('tools/call')
    assert.deepEqual(
      [call!.headers['mcp-method'], call!.headers['mcp-name'], call!.headers['mcp-protocol-version']],
      ['tools/call', 'look', '2026-07-28'],
    )
    assert.deepEqual([server.callsOf('initialize').length, server.callsOf('DELETE').length], [0, 0])
  })

  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])
    void test(`${version} is negotiated, and named in every request`, async () => {
      answersVersion(version)
      assert.equal((await caller.ask(server, 'look')).text, 'did look')
      assert.equal(server.callsOf('tools/call')[0]!.headers['mcp-protocol-version'], version)
    })

  for (const version of ['1999-01-01', '2024-10-07', '2025-08-01', '2026-01-01', '2031-01-01'])
    void test(`${version}, which the library does not know, is used like the one before it, and named in every request`, async () => {
      answersVersion(version)
      assert.equal((await caller.ask(server, 'look')).text, 'did look')
      assert.equal(server.callsOf('tools/call')[0]!.headers['mcp-protocol-version'], version)
    })

  void test('a session id that is too long is an error', async () => {
    server.on('initialize', (seen, response) => answer(response, 200, result(seen.id, {}), { 'mcp-session-id': 'x'.repeat(5000) }))
    await assert.rejects(caller.pin(server), /session id that is too long/)
  })

  function answersVersion(protocolVersion: string): void {
    server.on('initialize', (seen, response) =>
      answer(response, 200, result(seen.id, { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } })),
    )
  }
})
