/**
 * Whether events reach a caller as they are made, through whatever stands in front of the server: one short reply of the demo agent, with its
 * own key, over the public address. It is a real turn: stored, and charged to the demo owner.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import type { AdminClient } from '../admin-api/client.ts'
import { causeOf } from '../terminal/command-failed.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'

const check = 'streaming'
const timeoutMs = 60_000
// Any reply takes longer between its first event and its last: the demo model alone waits 10 ms before each of its pieces.
const heldBackMs = 30

/** Undefined where there is no demo key to ask with. */
export async function checkStream({ dataFolder }: Config, publicUrl: string, client: AdminClient): Promise<Finding | undefined> {
  const apiKey = readKey(join(dataFolder, 'demo.key'))
  const agentId = apiKey && (await findAgent(client, apiKey))
  if (!apiKey || !agentId) return undefined
  try {
    const response = await fetch(`${publicUrl}/v1/agents/${agentId}/chat/stream`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'idempotency-key': randomUUID(), 'content-type': 'application/json' },
      body: JSON.stringify({ external_user_id: 'turnkeep-doctor', message: 'What is Turnkeep, and what happens on a retry?' }),
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'manual',
    })
    if (!response.ok || !response.body) return warn(check, `${publicUrl} answered ${response.status} instead of a stream`, mendRoute)
    return judge(await timeEvents(response.body), publicUrl)
  } catch (error) {
    return fail(check, `no stream from ${publicUrl} (${causeOf(error)})`, mendRoute)
  }
}

type Times = { createdMs: number | undefined; completedMs: number | undefined }

/** When the first event and the last one had arrived, in milliseconds of one clock. */
async function timeEvents(body: ReadableStream<Uint8Array>): Promise<Times> {
  const times: Times = { createdMs: undefined, completedMs: undefined }
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of body) {
    text += decoder.decode(piece, { stream: true })
    if (text.includes('event: response.created\n')) times.createdMs ??= performance.now()
    if (text.includes('event: response.completed\n')) times.completedMs ??= performance.now()
  }
  return times
}

function judge({ createdMs, completedMs }: Times, publicUrl: string): Finding {
  if (createdMs === undefined || completedMs === undefined)
    return warn(check, `the stream from ${publicUrl} ended without response.completed`, 'Look at the server’s log for this turn’s failure.')
  const tookMs = Math.round(completedMs - createdMs)
  if (tookMs >= heldBackMs) return ok(check, `events arrive as they are made, over ${tookMs.toLocaleString('en-US')} ms`)
  return fail(check, `events from ${publicUrl} arrive all at once: something in front of the server holds them back`, mendBuffering)
}

const mendRoute = 'Let the proxy pass /v1/ on to the server as it is.'
const mendBuffering = 'Switch off the proxy’s buffering and compression of text/event-stream (nginx: proxy_buffering off).'

function readKey(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    // No demo, or not this user's to read: there is nothing to ask with.
    return undefined
  }
}

/** The agent of the key; the public part of a key stands before its dot. */
async function findAgent(client: AdminClient, apiKey: string): Promise<string | undefined> {
  const [, keyId] = /^svc_live_([a-z0-9]+)\./.exec(apiKey) ?? []
  for await (const { data: agents } of client.pages('/agents')) {
    for (const agent of agents.filter(({ name }) => name === 'demo')) {
      for await (const { data: keys } of client.pages(`/agents/${String(agent['id'])}/keys`))
        if (keys.some(({ key_id: found }) => found === keyId)) return String(agent['id'])
    }
  }
  return undefined
}
