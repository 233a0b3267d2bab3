/**
 * The attacker of the scenario `fairness`, in a process of its own, so that its CPU time is not the server's and its waits are not those of
 * the other callers. It reports `ready` for orders, and `started` when its first connections are open. It sends what it is ordered to until
 * the order to end arrives, and then reports how it was answered.
 */
import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { marks } from './call.ts'

export type Shot = { method: 'GET' | 'POST'; path: string; headers: Record<string, string>; body?: string }

/**
 * `requests`: this many, at most `inProgress` at the same time, each read to its end. `held`: this many at once, read but not closed; with
 * `unfinished`, the last byte of each body is missing. `pipelined`: this many connections, each with `each` requests in one write.
 */
export type Sending =
  | { kind: 'requests'; requests: number; inProgress: number }
  | { kind: 'held'; requests: number; unfinished: boolean }
  | { kind: 'pipelined'; connections: number; each: number }

/** The shots are sent one after the other, and again from the first one; `{{key}}` as a header is another key each time. */
export type AttackOrder = { kind: 'attack'; base: string; shots: Shot[]; sending: Sending } | { kind: 'end' }

/** `answers` by status; `sent` without an answer when the attack ended: `sent` less the sum of `answers` and `broken`. */
export type AttackNews = { sent: number; answers: Record<string, number>; broken: number }

const news: AttackNews = { sent: 0, answers: {}, broken: 0 }
// One connection for each request in progress: only the order limits how many there are.
const agent = new Agent({ keepAlive: true, maxSockets: Infinity })

/** Connections that are still to be opened, or refused, before the attack has started. */
let opening = 0

/** For one connection; only its first call counts. */
function onceOpened(): () => void {
  let isCounted = false
  return () => {
    if (!isCounted && --opening === 0) process.send!('started')
    isCounted = true
  }
}

function count(status: string | number): void {
  news.answers[status] = (news.answers[status] ?? 0) + 1
}

const filled = (headers: Shot['headers']): Shot['headers'] =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value === marks.key ? randomUUID() : value]))

/** Resolves after the response or the failure. */
function send(base: string, { method, path, headers, body = '' }: Shot, unfinished: boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const bytes = Buffer.from(body)
  news.sent += 1
  let answered = false
  const sent = request(new URL(path, base), {
    method,
    agent,
    headers: { ...filled(headers), ...(bytes.length > 0 && { 'content-length': String(bytes.length) }) },
  })
  const opened = onceOpened()
  sent.on('socket', (socket: Socket) => (socket.connecting ? socket.once('connect', opened) : opened()))
  sent.on('response', (response) => {
    answered = true
    count(response.statusCode!)
    response.resume()
    response.on('close', resolve)
  })
  sent.on('error', () => {
    opened()
    if (!answered) news.broken += 1
    resolve()
  })
  if (unfinished) sent.write(bytes.subarray(0, -1))
  else sent.end(bytes)
  return promise
}

/** Counts status lines, so a socket that is closed early has fewer answers than requests. */
function pipeline(base: string, shot: Shot, each: number): Socket {
  const { hostname, port } = new URL(base)
  const socket = connect(Number(port), hostname)
  const lines = [
    `${shot.method} ${shot.path} HTTP/1.1`,
    'host: bench',
    ...Object.entries(shot.headers).map(([name, value]) => `${name}: ${value}`),
  ]
  const length = shot.body === undefined ? [] : [`content-length: ${Buffer.byteLength(shot.body)}`]
  const one = `${[...lines, ...length].join('\r\n')}\r\n\r\n${shot.body ?? ''}`
  news.sent += each
  socket.on('data', (piece: Buffer) => {
    for (const [, status] of piece.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g)) count(status!)
  })
  const opened = onceOpened()
  socket.once('connect', opened)
  socket.on('error', () => {
    opened()
    news.broken += 1
  })
  socket.write(one.repeat(each))
  return socket
}

const firstOf = (sending: Exclude<Sending, { kind: 'pipelined' }>): number =>
  sending.kind === 'held' ? sending.requests : Math.min(sending.requests, sending.inProgress)

async function attack(base: string, shots: Shot[], sending: Sending): Promise<void> {
  opening = sending.kind === 'pipelined' ? sending.connections : firstOf(sending)
  const shotAt = (place: number): Shot => shots[place % shots.length]!
  if (sending.kind === 'pipelined') {
    for (let place = 0; place < sending.connections; place++) pipeline(base, shotAt(place), sending.each)
    return
  }
  if (sending.kind === 'held') {
    for (let place = 0; place < sending.requests; place++) void send(base, shotAt(place), sending.unfinished)
    return
  }
  let next = 0
  await Promise.all(
    Array.from({ length: sending.inProgress }, async () => {
      while (next < sending.requests) await send(base, shotAt(next++), false)
    }),
  )
}

process.on('message', (order: AttackOrder) => {
  if (order.kind === 'attack') void attack(order.base, order.shots, order.sending)
  else process.send!(news, () => process.exit())
})
process.on('disconnect', () => process.exit())
// It takes orders from now on.
process.send!('ready')
