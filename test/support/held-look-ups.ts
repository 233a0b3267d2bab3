/**
 * Requests of a token for programs whose authentication waits for its look-up in the store, as it does behind a slow database. With the
 * server's side of each connection, so that a test knows what the server has noticed.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TestApp } from './test-app.ts'
import { until } from './until.ts'

export type Held = { request: IncomingMessage; response: ServerResponse }

/** Holds every look-up of a token for programs until it is disposed. */
export class HeldLookUps {
  /** The secret of the token. */
  readonly token: string
  readonly #look = Promise.withResolvers<void>()
  readonly #seen: Held[] = []
  readonly #restore: () => void
  #waiting = 0

  private constructor(app: TestApp, token: string) {
    this.token = token
    const { read } = app.app.store
    const { findValidAdminToken } = read
    read.findValidAdminToken = async (digest) => {
      this.#waiting++
      await this.#look.promise
      return findValidAdminToken(digest)
    }
    const onRequest = (held: unknown): void => void this.#seen.push(held as Held)
    subscribe('http.server.request.start', onRequest)
    this.#restore = () => {
      unsubscribe('http.server.request.start', onRequest)
      read.findValidAdminToken = findValidAdminToken
      this.release()
    }
  }

  static async of(app: TestApp): Promise<HeldLookUps> {
    const { token } = await app.made('POST', '/tokens', { name: 'a program', role: 'admin' })
    return new HeldLookUps(app, token as string)
  }

  /** Resolves with the requests when there are this many of them and the look-up of each has started. */
  async waiting(count: number): Promise<Held[]> {
    await until(`${count} look-ups have started`, () => this.#waiting === count)
    return this.#seen.filter(({ request }) => request.headers.authorization === `Bearer ${this.token}`)
  }

  release(): void {
    this.#look.resolve()
  }

  [Symbol.dispose](): void {
    this.#restore()
  }
}
