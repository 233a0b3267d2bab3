/**
 * The answer check of this process, where test/run.ts has written the descriptions into a folder and named it; without one nothing is checked.
 * Leaves in that folder, when the process ends, how many answers of which operation were held, and what was wrong.
 */
import { randomUUID } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { readFileSync, writeFileSync } from 'node:fs'
import { Server } from 'node:net'
import { join } from 'node:path'
import { AnswerCheck } from './answer-check.ts'
import type { SeenAnswer, SeenEvent } from './answer-check.ts'

/** What a process leaves behind. */
export type Held = { counts: Record<string, number>; wrong: string[] }

const folder = process.env['TEST_CONTRACT']
const origins = new Set<string>()
const wrong: string[] = []
let made: AnswerCheck | undefined

/** Made with the first answer: a file that asks nothing pays nothing. */
function checkOf(into: string): AnswerCheck {
  if (made) return made
  const check = new AnswerCheck(JSON.parse(readFileSync(join(into, 'descriptions.json'), 'utf8')))
  process.once('exit', () => {
    const held: Held = { counts: check.counts, wrong }
    // A pid comes again.
    writeFileSync(join(into, `held-${process.pid}-${randomUUID()}.json`), JSON.stringify(held))
  })
  return (made = check)
}

/** A server of ours listens there: every answer of its two APIs is held, one without X-Request-ID too, until another server of this process gets the port. */
export function isOurs(baseUrl: string): void {
  if (folder !== undefined) origins.add(new URL(baseUrl).origin)
}

if (folder !== undefined) subscribe('tracing:net.server.listen:asyncEnd', forget)

/** Whoever listens now says anew that it is ours. */
function forget(listening: unknown): void {
  const server = listening instanceof Object && 'server' in listening ? listening.server : undefined
  const address = server instanceof Server ? server.address() : null
  if (address === null || typeof address === 'string') return
  for (const origin of origins) if (new URL(origin).port === String(address.port)) origins.delete(origin)
}

/** Whether an answer is to be held: by its address, and by its X-Request-ID where nobody has said who listens there. */
export function isHeld(url: URL, headers: Headers): boolean {
  if (folder === undefined || !/^\/(v1\/agents|admin\/v1)(\/|$)/.test(url.pathname)) return false
  return origins.has(url.origin) || headers.has('x-request-id')
}

/** Throws where the answer is not as it is described. */
export function hold(answer: SeenAnswer): void {
  if (folder === undefined) return
  refuse(`${answer.method} ${answer.path} ${answer.status}`, checkOf(folder).problems(answer), answer.text)
}

/** Throws where the events of a whole stream are not as they are described. */
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
