/**
 * How both clients handle a response with a certain error code: the class that they throw, and whether they repeat the request first.
 * Tested over HTTP with the real clients: a server fails each end user's first request with the code that is its name.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Turnkeep } from '../../packages/client/src/client.ts'
import { failures } from '../../src/errors.ts'
import type { FailureCode } from '../../src/errors.ts'

/** `thrown`: by a call without time to wait. `again`: with time, the message is sent a second time with its key. */
export type Manner = { thrown: string; again: boolean }

const reply = {
  request_id: '01a1fe2d-9cce-7609-9b25-1b5e85b01572',
  conversation_id: 'conv_01m82ccgr4g4errm64fx1c1jnw',
  message: { id: 'msg_01m82cchb71xyzptvkd5xps1sb', role: 'assistant', content: 'Hello.', created_at: '2026-11-22T19:40:32.488Z' },
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, charged_usd: '0.00000001' },
}

/** By code, for TypeScript and Python. */
export async function readManners(codes: FailureCode[]): Promise<{ typescript: Record<string, Manner>; python: Record<string, Manner> }> {
  const seen = new Set<string>()
  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join('')
    const [user, code] = /"external_user_id": ?"(\w+\.(\w+)\.\w+)"/.exec(body)!.slice(1) as [string, FailureCode]
    const key = `${user} ${request.headers['idempotency-key']}`
    const first = !seen.has(key)
    seen.add(key)
    const { status, message } = failures[code]
    const envelope = { error: { code, message, request_id: reply.request_id } }
    // Longer than the caller's limit, so the client throws immediately.
    const wait: Record<string, string> = user.endsWith('.throws') ? { 'retry-after': '60' } : {}
    response.writeHead(first ? status : 200, { 'content-type': 'application/json', ...wait }).end(JSON.stringify(first ? envelope : reply))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const [typescript, python] = await Promise.all([askTypescript(baseURL, codes), askPython(baseURL, codes)])
    return { typescript, python }
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

async function askTypescript(baseURL: string, codes: FailureCode[]): Promise<Record<string, Manner>> {
  const client = new Turnkeep({ baseURL, agentId: 'agt_1', apiKey: 'svc_live_k3m9x2p7q1w8z5t4.secret' })
  const send = (user: string): Promise<string> =>
    client.chat({ externalUserId: user, message: 'Hello' }, { maxWait: 30_000 }).then(
      () => '',
      (error: unknown) => (error instanceof Error ? error.name : String(error)),
    )
  const manners = codes.map(async (code): Promise<[string, Manner]> => {
    const [thrown, waited] = await Promise.all([send(`ts.${code}.throws`), send(`ts.${code}.free`)])
    return [code, { thrown, again: waited === '' }]
  })
  return Object.fromEntries(await Promise.all(manners))
}

const program = `
import json, sys, threading
from turnkeep import Turnkeep
url, codes = sys.argv[1], sys.argv[2:]
client = Turnkeep(base_url=url, agent_id="agt_1", api_key="svc_live_k3m9x2p7q1w8z5t4.secret")
manners = {}
def send(user):
    try:
        client.chat(external_user_id=user, message="Hello", max_wait=30.0)
        return ""
    except Exception as error:
        return type(error).__name__
def ask(code):
    manners[code] = {"thrown": send(f"py.{code}.throws"), "again": send(f"py.{code}.free") == ""}
threads = [threading.Thread(target=ask, args=(code,)) for code in codes]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(json.dumps(manners))
`

async function askPython(baseUrl: string, codes: FailureCode[]): Promise<Record<string, Manner>> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    PYTHONPATH: join(import.meta.dirname, '../../clients/python'),
    PYTHONDONTWRITEBYTECODE: '1',
  }
  const { stdout } = await promisify(execFile)('python3', ['-c', program, baseUrl, ...codes], { env, timeout: 120_000 })
  return JSON.parse(stdout) as Record<string, Manner>
}
