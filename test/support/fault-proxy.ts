/**
 * The faults of a network between a service and its database, on demand: a TCP proxy that passes, refuses, delays, falls silent, resets, or
 * loses the answer to one statement. It never changes or reorders bytes, and uses time only for `delay`.
 *
 *     const proxy = await startFaultProxy(server.port)
 *     const url = proxy.through(server.url)
 *     await proxy.refuse(); proxy.blackhole(); proxy.delay(200); await proxy.pass()
 *     proxy.reset()                                              // every connection there is
 *     const lost = proxy.cutAt('settle_v2', { lose: 'answer' })  // the server executes it, and the answer is lost
 *     await lost                                                 // resolves when it has happened
 */
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** `rst` resets the connection, `fin` closes it regularly, `silence` leaves it open and sends nothing more. */
export type How = 'rst' | 'fin' | 'silence'

export type Cut = {
  /** `request`: what contains the pattern never reaches the server. `answer`: it does, and the answer is lost. */
  lose: 'request' | 'answer'
  how?: How
  /** With `answer`: the cut comes after the server has sent this; by default with its first byte. */
  until?: string | Buffer
}

export type FaultProxy = {
  port: number
  /** The same URL through the proxy. */
  through(url: string): string
  /** Everything is passed again, including what was held back. */
  pass(): Promise<void>
  /** New connections are refused. Existing ones continue. */
  refuse(): Promise<void>
  /** New connections are accepted and receive nothing; on existing ones nothing is passed. Nothing is lost until they are reset. */
  blackhole(): void
  /** Every piece is delayed by this, in both directions. */
  delay(ms: number): void
  /** New connections are made to another server from now on. */
  leadTo(port: number): void
  /** Resets every connection at once. */
  reset(): void
  /** The next connection that receives this many bytes of the server from now on is cut; resolves when that has happened. */
  cutAfter(bytes: number, how?: How): Promise<void>
  /** The next connection that sends the pattern is cut, once; resolves when that has happened. */
  cutAt(pattern: string | Buffer, cut: Cut): Promise<void>
  /** The number of open connections, and of all since the start. */
  readonly open: number
  readonly accepted: number
  close(): Promise<void>
}

type Trap = { done: () => void; how: How } & ({ bytes: number } | { pattern: Buffer; lose: Cut['lose']; until: Buffer | undefined })

/** A pattern may be split over two pieces, so this much of the previous one is kept. */
const seam = 4096

/**
 * `port`: its own. If it refuses for long, the port must be one that outgoing connections do not use, or it may be taken when it is needed
 * again.
 */
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

  /** Two sockets and the data between them. */
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

    /** Passes what was held back, and connects to the server if that has not been done yet. */
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
      // In order, and none before its time; without a delay immediately.
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
      // Data that was passed must have been sent before a reset, which would discard it.
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
      // If one side has ended, the other ends too, unless nothing may be passed.
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
      // The callback waits for the last connection; the listener itself ends immediately.
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
