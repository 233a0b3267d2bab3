/**
 * The streaming check of `turnkeep doctor`: sends one message to the demo agent through the public URL, to find a proxy that buffers
 * events. This is a real turn, which is stored and charged to the demo owner.
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
// Even the fastest reply takes longer between its first and last event: the demo model waits 10 ms before each delta.
const heldBackMs = 30

/** Returns undefined if there is no demo key to call the API with. */
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
    if (!response.ok || !response.body)
      return warn(check, `${publicUrl} answered ${response.status} instead of streaming a reply`, fixRoute)
    return judge(await timeEvents(response.body), publicUrl)
  } catch (error) {
    return fail(check, `cannot stream from ${publicUrl}: ${causeOf(error)}`, fixRoute)
  }
}

type Times = { createdMs: number | undefined; completedMs: number | undefined }

/** Returns when the first and the last event arrived, in milliseconds of a monotonic clock. */
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
    return warn(check, `the stream from ${publicUrl} ended without response.completed`, 'Check the log of the server for the failed turn.')
  const tookMs = Math.round(completedMs - createdMs)
  if (tookMs >= heldBackMs) return ok(check, `events arrive as they are sent, over ${tookMs.toLocaleString('en-US')} ms`)
  return fail(check, `events from ${publicUrl} arrive all at once: a proxy in front of the server buffers them`, fixBuffering)
}

const fixRoute = 'Configure the proxy to forward /v1/ to the server unchanged.'
const fixBuffering = 'Turn off buffering and compression of text/event-stream in the proxy (nginx: proxy_buffering off).'

function readKey(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    // There is no demo, or this user cannot read its key.
    return undefined
  }
}

/** Returns the ID of the demo agent that the key belongs to. The part of a key before the dot is its public key ID. */
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
