/**
 * Records how long this process stood still. The service in it answers 503 instead of 408 for a second after a standstill, because what its
 * callers sent in time may not have been read (src/http/edge/standstill.ts). A test that waits for a 408 may get this answer on a busy
 * machine, and only then.
 */
const tickMs = 100
// The service looks twice a second and takes two seconds without a look as a standstill.
const longMs = 1_400

export class PauseWatch {
  longestMs = 0
  #tickedAt = performance.now()
  readonly #timer = setInterval(() => this.#tick(), tickMs).unref()

  #tick(): void {
    const now = performance.now()
    this.longestMs = Math.max(this.longestMs, now - this.#tickedAt)
    this.#tickedAt = now
  }

  get stoodStill(): boolean {
    this.#tick()
    return this.longestMs > longMs
  }

  /** What a request that arrived too slowly must get: always 408, or 503 if that was its status and the process stood still. */
  refusalOfLate(status: number | undefined): { status: number; code: string } {
    if (status === 503 && this.stoodStill) return { status, code: 'service_unavailable' }
    return { status: 408, code: 'bad_request' }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
