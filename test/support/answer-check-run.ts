/**
 * The response check of this process, if test/run.ts has written the descriptions into a folder and set its name; otherwise nothing is
 * checked. When the process ends, it writes to that folder how many responses of which operation were checked, and what was wrong.
 */
import { randomUUID } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { readFileSync, writeFileSync } from 'node:fs'
import { Server } from 'node:net'
import { join } from 'node:path'
import { AnswerCheck } from './answer-check.ts'
import type { SeenAnswer, SeenEvent } from './answer-check.ts'

/** The result of a process. */
export type Held = { counts: Record<string, number>; wrong: string[] }

const folder = process.env['TEST_CONTRACT']
const origins = new Set<string>()
const wrong: string[] = []
let made: AnswerCheck | undefined

/** Created with the first response, so a file without requests does not pay for it. */
function checkOf(into: string): AnswerCheck {
  if (made) return made
  const check = new AnswerCheck(JSON.parse(readFileSync(join(into, 'descriptions.json'), 'utf8')))
  process.once('exit', () => {
    const held: Held = { counts: check.counts, wrong }
    // Process IDs are reused.
    writeFileSync(join(into, `held-${process.pid}-${randomUUID()}.json`), JSON.stringify(held))
  })
  return (made = check)
}

/**
 * Call when a server of ours listens: every response of its two APIs is checked, even without X-Request-ID, until another server of this
 * process gets the port.
 */
export function isOurs(baseUrl: string): void {
  if (folder !== undefined) origins.add(new URL(baseUrl).origin)
}

if (folder !== undefined) subscribe('tracing:net.server.listen:asyncEnd', forget)

/** Each new server registers again. */
function forget(listening: unknown): void {
  const server = listening instanceof Object && 'server' in listening ? listening.server : undefined
  const address = server instanceof Server ? server.address() : null
  if (address === null || typeof address === 'string') return
  for (const origin of origins) if (new URL(origin).port === String(address.port)) origins.delete(origin)
}

/** Whether to check a response: by its address, or by its X-Request-ID if no server was registered for it. */
export function isHeld(url: URL, headers: Headers): boolean {
  if (folder === undefined || !/^\/(v1\/agents|admin\/v1)(\/|$)/.test(url.pathname)) return false
  return origins.has(url.origin) || headers.has('x-request-id')
}

/** Throws if the response does not match its description. */
export function hold(answer: SeenAnswer): void {
  if (folder === undefined) return
  refuse(`${answer.method} ${answer.path} ${answer.status}`, checkOf(folder).problems(answer), answer.text)
}

/** Throws if the events of a whole stream do not match their description. */
export function holdEvents(events: SeenEvent[]): void {
  if (folder === undefined) return
  refuse('event stream', checkOf(folder).eventProblems(events))
}

function refuse(what: string, problems: string[], text = ''): void {
  if (problems.length === 0) return
  const sentence = `contract: ${what}: ${problems.join('; ')}`
  wrong.push(sentence)
  throw new Error(`${sentence}\n${text.slice(0, 1000)}`)
}
