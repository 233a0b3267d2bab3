/**
 * How `npm run seed` moves the clock of a development server: a Unix socket in the data folder, which only the folder's user can open. The
 * server side (dev/server.ts) sends what it is; the other side sends offsets, one JSON object a line. When the connection ends, for whatever
 * reason, the clock returns to the present. A production server never opens this socket. docs/decisions/0030-development-loop.md.
 */
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export type DevelopmentServer = { url: string; adminUrl: string; scriptedUrl: string }

/** The milliseconds by which the store's clock differs from the present. */
export class ClockOffset {
  readonly #move: (milliseconds: number) => void | Promise<void>
  #offset = 0
  isHeld = false

  /** `move` changes the store's clock by that many milliseconds. */
  constructor(move: (milliseconds: number) => void | Promise<void>) {
    this.#move = move
  }

  async set(offset: number): Promise<void> {
    const change = offset - this.#offset
    this.#offset = offset
    await this.#move(change)
  }

  /** Lets time pass, but only while someone holds the clock. */
  async advance(milliseconds: number): Promise<void> {
    if (this.isHeld) await this.set(this.#offset + milliseconds)
  }
}

const socketPath = (folder: string): string => join(folder, 'development.sock')

/** Rejects with the listener's error, for example where the path of the folder is too long for a socket. */
export async function openClockSocket(folder: string, clock: ClockOffset, description: DevelopmentServer): Promise<Server> {
  const path = socketPath(folder)
  // A server that was killed leaves its file behind. The folder's lock is ours, so no other server uses it.
  rmSync(path, { force: true })
  const server = createServer((socket) => serveClock(socket, clock, description))
  server.listen(path)
  await once(server, 'listening')
  process.on('exit', () => rmSync(path, { force: true }))
  return server
}

function serveClock(socket: Socket, clock: ClockOffset, description: DevelopmentServer): void {
  const send = (message: object): void => void socket.write(`${JSON.stringify(message)}\n`)
  socket.on('error', () => socket.destroy())
  if (clock.isHeld) {
    send({ error: 'another npm run seed is filling this server' })
    return void socket.end()
  }
  clock.isHeld = true
  socket.on('close', () => {
    clock.isHeld = false
    void clock.set(0)
  })
  send(description)
  createInterface(socket).on('line', (line) => {
    const offsetMs = readOffset(line)
    if (offsetMs === undefined) return void socket.destroy()
    void clock.set(offsetMs).then(() => send({ offsetMs }))
  })
}

function readOffset(line: string): number | undefined {
  try {
    const { offsetMs } = JSON.parse(line) as { offsetMs?: unknown }
    return typeof offsetMs === 'number' && Number.isFinite(offsetMs) ? offsetMs : undefined
  } catch {
    return undefined
  }
}

export type HeldClock = DevelopmentServer & {
  setClockOffset(milliseconds: number): Promise<void>
  /** Returns the clock to the present. */
  close(): void
}

/** Undefined where no development server runs on this folder. Rejects where another program holds its clock. */
export async function holdClock(folder: string): Promise<HeldClock | undefined> {
  const socket = createConnection(socketPath(folder))
  try {
    await once(socket, 'connect')
  } catch {
    return undefined
  }
  const lines = createInterface(socket)[Symbol.asyncIterator]()
  const read = async (): Promise<Record<string, unknown>> => {
    const { value, done } = await lines.next()
    if (done)
      throw new Error('the development server ended or restarted. Start again with a new data folder: this one is only partly filled.')
    const message = JSON.parse(value) as Record<string, unknown>
    if (typeof message['error'] === 'string') throw new Error(message['error'])
    return message
  }
  socket.on('error', () => socket.destroy())
  const description = (await read()) as DevelopmentServer
  return {
    ...description,
    async setClockOffset(offsetMs) {
      socket.write(`${JSON.stringify({ offsetMs })}\n`)
      await read()
    },
    close: () => void socket.destroy(),
  }
}
