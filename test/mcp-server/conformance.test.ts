/**
 * The scenarios of `@modelcontextprotocol/conformance` for servers. Its command sends no API key, so a proxy adds one. Those that need a
 * particular tool, or a feature that an agent does not have, are listed with the reason.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createServer, request as ask } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { text } from 'node:stream/consumers'
import { startTestApp } from '../support/test-app.ts'

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))

const applicable = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

/** Why each of the others cannot run against an agent. */
const others: Record<string, string> = {
  ...all('calls a tool of its own that the server has to have, with a result that only this tool returns', [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-with-logging',
    'tools-call-error',
    'tools-call-with-progress',
    'json-schema-2020-12',
    'server-sse-polling',
  ]),
  ...all('asks the client for something in the middle of a call, which an agent never does', [
    'tools-call-sampling',
    'tools-call-elicitation',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
  ]),
  ...all('for a capability that the server does not declare: an agent is a tool and has nothing to read', [
    'logging-set-level',
    'completion-complete',
    'resources-list',
    'resources-read-text',
    'resources-read-binary',
    'resources-templates-read',
    'resources-subscribe',
    'resources-unsubscribe',
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
  ]),
  'server-sse-multiple-streams': 'needs a session, and the server has none',
}

function all(reason: string, names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, reason]))
}

async function run(args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await ended, output: output + errors }
}

/** Passes every request on with the key. */
async function startProxy(target: string, apiKey: string): Promise<Server> {
  const server = createServer((request, response) => {
    const { method, headers, url = '' } = request
    const passed = ask(`${target}${url}`, { method, headers: { ...headers, authorization: `Bearer ${apiKey}` } }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

void test('mcp.tool: every scenario of the conformance suite for servers is run or has a reason', async () => {
  const { output } = await run(['list'])
  const scenarios = [...output.split('Client scenarios')[0]!.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name!)
  assert.deepEqual(scenarios.toSorted(), [...applicable, ...Object.keys(others)].toSorted())
})

void test('mcp.tool: the applicable scenarios of the conformance suite pass', async (t) => {
  await using app = await startTestApp()
  const proxy = await startProxy(app.url, app.caller.apiKey)
  t.after(() => proxy.close())
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`
  for (const scenario of applicable) {
    const { code, output } = await run(['server', '--url', url, '--scenario', scenario])
    assert.equal(code, 0, `${scenario}\n${output}`)
    assert.match(output, /Passed: [1-9]\d*\/\d+, 0 failed/, `${scenario}\n${output}`)
  }
})
