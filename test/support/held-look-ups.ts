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
  #isWaiting = false

  private constructor(app: TestApp, token: string) {
    this.token = token
    const { read } = app.app.store
    const { findValidAdminTokens } = read
    read.findValidAdminTokens = async (digests) => {
      this.#isWaiting = true
      await this.#look.promise
      return findValidAdminTokens(digests)
    }
    const onRequest = (held: unknown): void => void this.#seen.push(held as Held)
    subscribe('http.server.request.start', onRequest)
    this.#restore = () => {
      unsubscribe('http.server.request.start', onRequest)
      read.findValidAdminTokens = findValidAdminTokens
      this.release()
    }
  }

  static async of(app: TestApp): Promise<HeldLookUps> {
    const { token } = await app.made('POST', '/tokens', { name: 'a program', role: 'admin' })
    return new HeldLookUps(app, token as string)
  }

  /** Resolves with the requests when there are this many of them, and all wait for their look-ups, which the service makes together. */
  async waiting(count: number): Promise<Held[]> {
    const own = (): Held[] => this.#seen.filter(({ request }) => request.headers.authorization === `Bearer ${this.token}`)
    await until(`${count} requests wait`, () => this.#isWaiting && own().length === count)
    return own()
  }

  release(): void {
    this.#look.resolve()
  }

  [Symbol.dispose](): void {
    this.#restore()
  }
}
