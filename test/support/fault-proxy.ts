/**
 * What a network does to a database, on demand: a TCP proxy before a server that passes, refuses, delays, falls silent, resets, or loses the
 * answer of one statement. Never changes a byte, never reorders, and uses time only for `delay`.
 *
 *     const proxy = await startFaultProxy(server.port)
 *     const url = proxy.through(server.url)
 *     await proxy.refuse(); proxy.blackhole(); proxy.delay(200); await proxy.pass()
 *     proxy.reset()                                              // every connection there is
 *     const lost = proxy.cutAt('settle_v1', { lose: 'answer' })  // the server does it, nobody hears of it
 *     await lost                                                 // resolves when it has happened
 */
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** `rst` resets the connection, `fin` ends it in good order, `silence` leaves it open and says nothing more. */
export type How = 'rst' | 'fin' | 'silence'

export type Cut = {
  /** `request`: what holds the pattern never reaches the server. `answer`: it does, and the answer never comes back. */
  lose: 'request' | 'answer'
  how?: How
  /** With `answer`: the cut comes once the server has sent this; by default with its first byte. */
  until?: string | Buffer
}

export type FaultProxy = {
  port: number
  /** The same URL by way of the proxy. */
  through(url: string): string
  /** Everything flows again, and what was held flows on. */
  pass(): Promise<void>
  /** Nobody listens: new connections are refused. Those that are there go on. */
  refuse(): Promise<void>
  /** New connections are accepted and hear nothing; in those that are there nothing moves. Nothing is lost until they are reset. */
  blackhole(): void
  /** Every piece is held for so long, in both directions. */
  delay(ms: number): void
  /** New connections go to another server from now on. */
  leadTo(port: number): void
  /** Resets every connection at once. */
  reset(): void
  /** The next connection to get so far is cut after so many bytes of the server from now on; resolves when it has happened. */
  cutAfter(bytes: number, how?: How): Promise<void>
  /** The next connection to send the pattern is cut, once; resolves when it has happened. */
  cutAt(pattern: string | Buffer, cut: Cut): Promise<void>
  /** Connections open now, and all that ever came. */
  readonly open: number
  readonly accepted: number
  close(): Promise<void>
}

type Trap = { done: () => void; how: How } & ({ bytes: number } | { pattern: Buffer; lose: Cut['lose']; until: Buffer | undefined })

/** A pattern may lie across two pieces, so this much of the former one is kept. */
const seam = 4096

/** `port`: its own; where it is to refuse for long, one from which no connection of the machine goes out, or it is gone when it is wanted back. */
export async function startFaultProxy(firstPort: number, { port: wanted = 0 } = {}): Promise<FaultProxy> {
  let targetPort = firstPort
  let mode: 'pass' | 'blackhole' = 'pass'
  let delayMs = 0
  let accepted = 0
  let traps: Trap[] = []
  const pairs = new Set<Pair>()

  const server = createServer({ allowHalfOpen: true }, (client) => {
    accepted += 1
    pairs.add(new Pair(client))
  })

  /** Two sockets and what goes between them. */
  class Pair {
    readonly #client: Socket
    #target: Socket | undefined
    #silent = false
    #caught: { trap: Extract<Trap, { pattern: Buffer }>; heard: Buffer } | undefined
    #sent = Buffer.alloc(0)

    constructor(client: Socket) {
      this.#client = client
      client.pause()
      client.on('error', () => this.reset())
      client.on('close', () => this.#gone())
      this.flow()
    }

    /** Lets go of what was held; connects to the server where that was not done yet. */
    flow(): void {
      if (mode === 'blackhole' || this.#client.destroyed) return
      if (this.#target) {
        this.#target.resume()
        this.#client.resume()
        return
      }
      const target = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true })
      this.#target = target
      for (const socket of [this.#client, target]) socket.setNoDelay(true)
      target.on('error', () => this.reset())
      target.on('close', () => this.#gone())
      this.#carry(this.#client, target, (piece) => this.#fromClient(piece))
      this.#carry(target, this.#client, (piece) => this.#fromServer(piece))
    }

    hold(): void {
      this.#client.pause()
      this.#target?.pause()
    }

    reset(): void {
      pairs.delete(this)
      for (const socket of [this.#client, this.#target]) if (socket && !socket.destroyed) socket.resetAndDestroy()
    }

    #carry(from: Socket, to: Socket, look: (piece: Buffer) => Buffer | undefined): void {
      let before = Promise.resolve()
      let waiting = 0
      // In their order, and none before its time; without a delay at once.
      const inTurn = (step: () => void): void => {
        if (delayMs === 0 && !waiting) return step()
        const due = performance.now() + delayMs
        waiting += 1
        before = before.then(async () => {
          const left = due - performance.now()
          if (left > 0) await new Promise((resolve) => setTimeout(resolve, left))
          waiting -= 1
          step()
        })
      }
      from.on('data', (piece: Buffer) =>
        inTurn(() => {
          const on = this.#silent ? undefined : look(piece)
          if (on?.length && to.writable && !to.write(on)) {
            from.pause()
            to.once('drain', () => mode === 'pass' && from.resume())
          }
        }),
      )
      from.on('end', () => inTurn(() => !this.#silent && to.writable && to.end()))
      from.resume()
    }

    #fromClient(piece: Buffer): Buffer | undefined {
      const seen = Buffer.concat([this.#sent, piece])
      this.#sent = seen.subarray(Math.max(0, seen.length - seam))
      const trap = traps.find((one) => 'pattern' in one && seen.includes(one.pattern)) as Extract<Trap, { pattern: Buffer }> | undefined
      if (!trap || this.#caught) return piece
      traps = traps.filter((one) => one !== trap)
      if (trap.lose === 'request') {
        this.#cut(trap)
        return undefined
      }
      this.#caught = { trap, heard: Buffer.alloc(0) }
      return piece
    }

    #fromServer(piece: Buffer): Buffer | undefined {
      if (this.#caught) {
        const { trap } = this.#caught
        this.#caught.heard = Buffer.concat([this.#caught.heard, piece])
        if (!trap.until || this.#caught.heard.includes(trap.until)) this.#cut(trap)
        return undefined
      }
      const trap = traps.find((one) => 'bytes' in one) as Extract<Trap, { bytes: number }> | undefined
      if (!trap) return piece
      if (piece.length < trap.bytes) {
        trap.bytes -= piece.length
        return piece
      }
      traps = traps.filter((one) => one !== trap)
      const last = piece.subarray(0, trap.bytes)
      // What was allowed through must have left before a reset, which would take it along.
      if (last.length > 0) this.#client.write(last, () => this.#cut(trap))
      else this.#cut(trap)
      this.#silent = true
      return undefined
    }

    #cut(trap: Trap): void {
      this.#silent = true
      if (trap.how === 'rst') this.reset()
      else if (trap.how === 'fin') {
        this.#client.end()
        this.#target?.end()
      }
      trap.done()
    }

    #gone(): void {
      if (this.#client.destroyed && (!this.#target || this.#target.destroyed)) pairs.delete(this)
      // One side is gone for good: so is the other, unless nothing may move.
      else if (mode === 'pass' && !this.#silent) (this.#client.destroyed ? this.#target : this.#client)?.end()
    }
  }

  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject)
        resolve()
      })
    })

  function flow(): void {
    mode = 'pass'
    for (const pair of pairs) pair.flow()
  }

  const trap = (make: (done: () => void) => Trap): Promise<void> =>
    new Promise((resolve) => {
      traps.push(make(resolve))
    })

  await listen(wanted)
  const { port } = server.address() as AddressInfo
  return {
    port,
    through(url) {
      const changed = new URL(url)
      changed.hostname = '127.0.0.1'
      changed.port = String(port)
      return changed.href
    },
    async pass() {
      delayMs = 0
      if (!server.listening) await listen(port)
      flow()
    },
    async refuse() {
      flow()
      // The callback waits for the last connection; the listener itself is gone at once.
      server.close()
    },
    blackhole() {
      mode = 'blackhole'
      for (const pair of pairs) pair.hold()
    },
    delay(ms) {
      delayMs = ms
      flow()
    },
    leadTo: (other) => void (targetPort = other),
    reset() {
      for (const pair of pairs) pair.reset()
    },
    cutAfter: (bytes, how = 'rst') => trap((done) => ({ bytes, how, done })),
    cutAt: (pattern, { lose, how = 'rst', until }) =>
      trap((done) => ({
        pattern: Buffer.from(pattern as string),
        lose,
        how,
        until: until === undefined ? undefined : Buffer.from(until as string),
        done,
      })),
    get open() {
      return pairs.size
    },
    get accepted() {
      return accepted
    },
    async close() {
      const closed = new Promise<void>((resolve) => (server.listening ? server.close(() => resolve()) : resolve()))
      for (const pair of pairs) pair.reset()
      await closed
    },
  }
}
