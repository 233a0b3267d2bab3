/** `turnkeep chat` at a real terminal and in a pipe, against a real server with a scripted model. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttpServer, request } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { gate, startModelServer } from '../support/model-server.ts'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { startServer } from '../support/server-process.ts'
import { TestClient, adminToken, makeFolder, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { openTerminal, withoutTerminal } from './terminal-session.ts'
import type { TerminalSession } from './terminal-session.ts'

let app: TestApp
let folder: string
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnkeep-chat-'))
  app = await startTestApp()
})
after(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

const environment = (url = app.url): Record<string, string> => ({
  TURNKEEP_PUBLIC_URL: url,
  TURNKEEP_ADMIN_TOKEN: adminToken,
  TURNKEEP_DATA_DIR: folder,
})
const chat = (args: string[], input?: string): Promise<Ran> => runCommand(['chat', ...args], environment(), input)
const costLine = /\n0\.\d{8} USD · [\d,]+ prompt \+ [\d,]+ completion tokens · \d+\.\d s, first token \d+\.\d s\n\n› $/

/** At its first prompt. */
async function atTerminal(t: TestContext, args: string[], url?: string): Promise<TerminalSession> {
  const terminal = openTerminal(['chat', ...args], environment(url))
  t.after(async () => {
    terminal.type('\u0003\u0004')
    await terminal.ended
  })
  await terminal.shows(/\n› $/)
  return terminal
}

describe('turnkeep chat at a terminal', { skip: withoutTerminal }, () => {
  test("shows the owner who pays, the reply as it arrives, its cost, the session's total and the history", async (t) => {
    const terminal = await atTerminal(t, [app.caller.agentId, '--user', 'ann'])
    assert.match(
      terminal.screen,
      /^Test agent \(agt_\w+\) · scripted\/test-model\n0\.15 USD per million prompt tokens, 0\.60 USD per million/,
    )
    assert.match(terminal.screen, /\nOwner Test owner, \d+\.\d+ USD available · end user ann · \/help for commands\n/)
    const held = gate()
    app.model.when('good morning', ['Good ', 'day \u001b[31m', 'to ', held, 'you. '.repeat(30)])
    terminal.type('good morning\r')
    await terminal.shows(/\nGood day \\u\{1b\}\[31mto/)
    held.open()
    const reply = await terminal.shows(costLine)
    for (const line of reply.split('\n').slice(0, -4)) assert.ok(line.length <= 80, line)
    assert.equal(reply.match(/you\./g)?.length, 30)
    terminal.type('/cost\r')
    const [, sum, left] = /This session: (\S+) USD · 1 reply · .*\nAvailable: +(\S+) USD \(owner Test owner\)/.exec(
      await terminal.shows(/Test owner\)\n› $/),
    )!
    const owner = await app.owner()
    assert.equal(left, owner.available_usd)
    assert.equal(Number(owner.balance_usd) + Number(sum), 10)
    // The arrow key recalls the message; a backslash or a paste makes a message of several lines.
    terminal.type('\u001b[A\u001b[A')
    await terminal.shows(/good morning$/)
    terminal.type(' again \\\r')
    await terminal.shows(/… $/)
    terminal.type('and\u001b[200~ a\rpaste\u001b[201~\r')
    await terminal.shows(costLine)
    assert.equal(app.model.calls.at(-1)!.lastUserMessage, 'good morning again \nand a\npaste')
    terminal.type('/nonsense\r')
    await terminal.shows(/Unknown command: \/nonsense\n\/history/)
    terminal.type('\u0004')
    assert.equal(await terminal.ended, 0)
    const later = await atTerminal(t, [app.caller.agentId, '--user', 'ann'])
    assert.match(later.screen, /\n› good morning again\nand a\npaste\nGood day/)
    const fresh = await atTerminal(t, [app.caller.agentId, '--user', 'ann', '--new'])
    assert.doesNotMatch(fresh.screen, /paste/)
  })

  test('Ctrl-C stops waiting and the turn continues; the next message waits for it; Ctrl-C twice at the prompt quits', async (t) => {
    const terminal = await atTerminal(t, ['Test agent', '--user', 'ben'])
    const held = gate()
    app.model.when('take your time', ['Well ', 'now ', held, 'done.'])
    terminal.type('take your time\r')
    await terminal.shows(/Well/)
    terminal.type('\u0003')
    const said = await terminal.shows(/Stopped waiting\..*\n\n› $/)
    const [, requestId] = /turn show ([0-9a-f-]{36})/.exec(said.replaceAll('\n', ''))!
    terminal.type('and then?\r')
    await terminal.shows(/another message of this conversation is being answered: retrying in 2 s/)
    held.open()
    await terminal.shows(costLine)
    assert.equal((await app.made('GET', `/turns/${requestId}`)).state, 'completed')
    terminal.type('/cost\r')
    await terminal.shows(/ · 2 replies · /)
    terminal.type('\u0003')
    await terminal.shows(/Ctrl-C again/)
    terminal.type('\u0003')
    assert.equal(await terminal.ended, 0)
  })

  test('Ctrl-C ends a lookup that does not respond, returns to the prompt, and the reply still counts in the total', async (t) => {
    const front = await startHoldingFront(t)
    const terminal = await atTerminal(t, [app.caller.agentId, '--user', 'ivy'], front.url)
    for (const [words, path] of [
      ['/history', '/keys'],
      ['/cost', '/owners/'],
      ['what now?', '/turns/'],
    ] as const) {
      const asked = front.hold(path)
      terminal.type(`${words}\r`)
      await asked
      terminal.type('\u0003')
      await terminal.shows(/\nStopped\.[^]*\n› $/)
    }
    front.hold(undefined)
    terminal.type('/cost\r')
    await terminal.shows(/This session: 0\.\d*[1-9]\d* USD · 1 reply · /)
    terminal.type('/exit\r')
    assert.equal(await terminal.ended, 0)
  })

  test('when the server is killed during a reply, the rest arrives under the same key, and differences are shown', async (t) => {
    const port = await freePort()
    const home = await makeFolder()
    const model = await startModelServer()
    t.after(async () => {
      await model.close()
      rmSync(home, { recursive: true, force: true })
    })
    const start = () => startServer({ TURNKEEP_DATA_DIR: home, PORT: String(port), TURNKEEP_ADMIN_TOKEN: adminToken, TURNKEEP_DEMO: 'off' })
    let server = await start()
    t.after(() => server.kill())
    const client = new TestClient(server.url)
    await client.makeProvider(model)
    client.caller = await client.makeCaller()
    const terminal = await atTerminal(t, ['--user', 'eve'], server.url)
    for (const [rest, shown] of [
      ['One two three four.', /^three four\.\n0\.\d{8} USD/m],
      ['Something else.', /The turn ran again and returned a different reply:\nSomething else\.\n0\.\d{8} USD/],
    ] as const) {
      model.script(['One ', 'two ', 'thr', gate()], rest)
      terminal.type('count\r')
      await terminal.shows(/One two/)
      await server.kill()
      await terminal.shows(/: retrying in 0\.5 s/)
      server = await start()
      const reply = await terminal.shows(shown)
      assert.doesNotMatch(reply, /One two[^]*One two/)
    }
    assert.equal((await client.made('GET', '/turns')).data.length, 2)
    assert.equal((await client.ledger()).filter((entry: Json) => entry.kind === 'charge').length, 2)
  })
})

describe('turnkeep chat in a pipe', () => {
  test('the whole of stdin is one message; stdout has only the reply, stderr its cost', async () => {
    const { code, stdout, stderr } = await chat(['Test agent', '--user', 'pipe'], 'first line\nsecond line\n')
    assert.equal(code, 0, stderr)
    assert.equal(stdout, 'You said: first line\nsecond line\n')
    assert.match(stderr, /^0\.\d{8} USD · \d+ prompt \+ \d+ completion tokens · \d+\.\d s, first token \d+\.\d s\n$/)
  })

  test('--json prints the completed response, and the same Idempotency-Key prints it again', async () => {
    const args = ['Test agent', '--message', 'keep it', '--idempotency-key', 'a key of mine', '--json']
    const first = await chat(args)
    const { request_id: requestId, message, usage } = JSON.parse(first.stdout) as Json
    assert.equal(message.content, 'You said: keep it')
    assert.equal((await app.made('GET', `/turns/${requestId}`)).usage.charged_usd, usage.charged_usd)
    assert.equal((await chat(args)).stdout, first.stdout)
  })

  test('idempotency.key-text: a key of any characters reaches the server; one that a header cannot carry is refused and not sent', async () => {
    const args = ['Test agent', '--message', 'three clouds', '--json', '--idempotency-key']
    const first = await chat([...args, 'größe 三体 🌧'])
    assert.equal(first.code, 0, first.stderr)
    const { request_id: requestId } = JSON.parse(first.stdout) as Json
    const stored = await app.query(`select idempotency_key as key from turns where request_id = '${requestId}'`)
    assert.equal(stored[0]!['key'], 'größe 三体 🌧')
    assert.equal((await chat([...args, 'größe 三体 🌧'])).stdout, first.stdout)
    const calls = app.model.calls.length
    for (const key of ['', ' a', 'a ', 'a\nb']) {
      const { code, stdout, stderr } = await chat([...args, key])
      assert.deepEqual([code, stdout], [2, ''], stderr)
      assert.match(stderr, /--idempotency-key <key>[\s\S]*It must not be empty, begin or end with a blank/)
    }
    assert.equal(app.model.calls.length, calls)
  })

  test('without an agent, or with an ambiguous name, the agents are listed and nothing is sent', async () => {
    const other = await app.makeAgent(app.caller.ownerId, { name: 'Second' })
    for (const [args, why] of [
      [[], /^turnkeep: several agents exist\. Specify one of:\n {2}ID +model +name\n/],
      [['Nobody'], /^turnkeep: no agent is named Nobody\. Specify the ID of one of:\n/],
    ] as const) {
      const { code, stdout, stderr } = await chat([...args, '--message', 'x'])
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, why)
      assert.ok(stderr.includes(`${other.id}  scripted/test-model  Second\n`))
    }
    await app.made('DELETE', `/agents/${other.id}`)
  })

  test('no message, a disabled agent, no balance, a failed turn: prints the reason and the command that fixes it', async () => {
    assert.equal((await chat(['Test agent'])).code, 2)
    await app.made('PATCH', `/agents/${app.caller.agentId}`, { enabled: false })
    const disabled = await chat(['Test agent', '--message', 'x'])
    await app.made('PATCH', `/agents/${app.caller.agentId}`, { enabled: true })
    assert.deepEqual([disabled.code, disabled.stdout], [1, ''])
    assert.match(disabled.stderr, new RegExp(`disabled.*\n {2}npx --no-install turnkeep agent enable ${app.caller.agentId}\n$`))
    const poor = await app.makeCaller({ balanceUsd: '0', agent: { name: 'Poor' } })
    const { code, stderr } = await chat(['Poor', '--message', 'x'])
    assert.equal(code, 1)
    assert.match(stderr, new RegExp(`0\\.00000000 USD available.*\n {2}npx --no-install turnkeep ledger add ${poor.ownerId} 10\\.00\n$`))
    app.model.script({ status: 400, body: { error: { message: 'no' } } })
    const failed = await chat(['Test agent', '--message', 'x'])
    assert.equal(failed.code, 1)
    assert.match(failed.stderr, /failed, and nothing was charged\. To see why:\n {2}npx --no-install turnkeep turn show [0-9a-f-]{36}\n$/)
  })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => void server.close(resolve))
  return port
}

type HoldingFront = {
  url: string
  /** Requests whose path contains this are not answered from now on; resolves at the first one. */
  hold(path: string | undefined): Promise<void>
}

/** A proxy before the app. */
async function startHoldingFront(t: TestContext): Promise<HoldingFront> {
  let held: string | undefined
  let heldOne = (): void => undefined
  const server = createHttpServer((asked, answer) => {
    if (held !== undefined && asked.url!.includes(held)) return heldOne()
    const { method, headers, url } = asked
    const sent = request(`${app.url}${url}`, { method: method!, headers }, (got) => {
      answer.writeHead(got.statusCode!, got.headers)
      got.pipe(answer)
    })
    asked.pipe(sent)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold(path) {
      held = path
      return new Promise((resolve) => (heldOne = resolve))
    },
  }
}
