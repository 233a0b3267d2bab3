/**
 * A client of the bench in a separate process, so that its CPU time is never counted as the server's. Keeps a connection for each caller,
 * reads every response to its end, and counts one as a turn only if it is complete: 2xx, ended regularly, with everything in it that the
 * call names. Returns raw times; load.ts does the arithmetic.
 */
import { Client } from 'undici'
import type { Dispatcher } from 'undici'
import { filler, firstToken } from './call.ts'
import type { Filled, Filling } from './call.ts'
import type { LoadSpec } from './scenario.ts'

/** `startAt` in epoch milliseconds, for all processes of a load; `prefix` distinguishes users and keys from those of other loads. */
export type LoadOrder = Omit<LoadSpec, 'processes'> & { startAt: number; prefix: string }

export type Counted = { total: Float64Array; firstDelta: Float64Array; refused: Float64Array; errors: number }
export type LoadNews = {
  byLabel: Map<string, Counted>
  withRetryAfter: number
  errors: Map<string, number>
  reasons: Map<string, number>
  unsent: number
  timeline: { turns: number; refused: number; errors: number }[]
  seconds: number
  cpuMs: number
}

const defaultTimeoutMs = 120_000
// An open loop sends at every tick what is due. A finer tick would be a busy loop.
const tickMs = 2
// A caller whose connection is refused tries again after a pause.
const afterErrorMs = 20

type Answer =
  | { kind: 'whole'; totalMs: number; firstDeltaMs: number }
  | { kind: 'refused'; totalMs: number; retryAfter: boolean; reason: string }
  | { kind: 'error'; what: string }

class Tally {
  readonly #lists = new Map<string, { total: number[]; firstDelta: number[]; refused: number[]; errors: number }>()
  readonly #errors = new Map<string, number>()
  readonly #reasons = new Map<string, number>()
  readonly #timeline: LoadNews['timeline'] = []
  #withRetryAfter = 0
  unsent = 0

  count(label: string, answer: Answer, second: number): void {
    let list = this.#lists.get(label)
    if (!list) this.#lists.set(label, (list = { total: [], firstDelta: [], refused: [], errors: 0 }))
    while (this.#timeline.length <= second) this.#timeline.push({ turns: 0, refused: 0, errors: 0 })
    const now = this.#timeline[second]!
    if (answer.kind === 'whole') {
      list.total.push(answer.totalMs)
      list.firstDelta.push(answer.firstDeltaMs)
      now.turns += 1
    } else if (answer.kind === 'refused') {
      list.refused.push(answer.totalMs)
      this.#withRetryAfter += Number(answer.retryAfter)
      raise(this.#reasons, answer.reason)
      now.refused += 1
    } else {
      list.errors += 1
      raise(this.#errors, answer.what)
      now.errors += 1
    }
  }

  news(seconds: number, cpuMs: number): LoadNews {
    const byLabel = new Map(
      [...this.#lists].map(([label, { total, firstDelta, refused, errors }]) => {
        const [all, first, rejected] = [total, firstDelta, refused].map((times) => Float64Array.from(times))
        return [label, { total: all!, firstDelta: first!, refused: rejected!, errors }]
      }),
    )
    const { unsent } = this
    return {
      byLabel,
      withRetryAfter: this.#withRetryAfter,
      errors: this.#errors,
      reasons: this.#reasons,
      unsent,
      timeline: this.#timeline,
      seconds,
      cpuMs,
    }
  }
}

const raise = (counts: Map<string, number>, what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)

/** Shortens the body of an error, so that a thousand refusals are one line. */
const codeOf = (text: string): string => /"code":\s*"(\w+)"/.exec(text)?.[1] ?? ''

/** Never rejects: a failure is a result of the kind `error`. */
function ask(client: Client, { path, headers, body }: Filled, whole: string[]): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const sentAt = performance.now()
  const pieces: Buffer[] = []
  let status = 0
  let retryAfter = false
  let streamed = false
  let firstDeltaMs: number | undefined
  const text = (): string => Buffer.concat(pieces).toString()
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: () => undefined,
    onResponseStart(_controller, code, answered) {
      status = code
      retryAfter = answered['retry-after'] !== undefined
      streamed = String(answered['content-type']).startsWith('text/event-stream')
    },
    onResponseData(_controller, piece) {
      pieces.push(piece)
      // A token may be split over two reads, so until it is found all of them are searched. Nearly always there is only one.
      if (streamed && firstDeltaMs === undefined && text().includes(firstToken)) firstDeltaMs = performance.now() - sentAt
    },
    onResponseEnd() {
      const totalMs = performance.now() - sentAt
      const ok = status >= 200 && status < 300
      if (ok && whole.every((mark) => text().includes(mark))) resolve({ kind: 'whole', totalMs, firstDeltaMs: firstDeltaMs ?? totalMs })
      else if (status === 503 || status === 429) resolve({ kind: 'refused', totalMs, retryAfter, reason: `${status} ${codeOf(text())}` })
      else resolve({ kind: 'error', what: `${ok ? 'not whole: ' : ''}${status} ${text().slice(-200)}` })
    },
    onResponseError(_controller, error) {
      resolve({ kind: 'error', what: (error as NodeJS.ErrnoException).code ?? error.message })
    },
  }
  client.dispatch({ path, method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }, handler)
  return promise
}

async function run(order: LoadOrder): Promise<LoadNews> {
  const { base, calls, callers, seconds = Infinity, turns = Infinity, perSecond } = order
  const limit = order.timeoutMs ?? defaultTimeoutMs
  const clients = Array.from(
    { length: callers },
    () => new Client(base, { keepAliveTimeout: 600_000, headersTimeout: limit, bodyTimeout: limit }),
  )
  const fillers = calls.map((call) => ({ fill: filler(call), label: call.label ?? '', whole: call.whole }))
  const tally = new Tally()
  const asked: number[] = []
  let sent = 0

  await sleep(order.startAt - Date.now())
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  const elapsed = (): number => (performance.now() - startedAt) / 1000

  async function turn(caller: number): Promise<Answer> {
    const number = sent++
    const round = (asked[caller] = (asked[caller] ?? -1) + 1)
    const place = caller + round * callers
    // By the place and not by the number: two callers never send the next message of one key and one user at the same time.
    const { fill, label, whole } = fillers[place % fillers.length]!
    const answer = await ask(clients[caller]!, fill(fillingOf(order, { number, place })), whole)
    tally.count(label, answer, Math.floor(elapsed()))
    return answer
  }

  const goesOn = (): boolean => sent < turns && elapsed() < seconds
  if (perSecond === undefined) {
    await Promise.all(
      clients.map(async (_, caller) => {
        await sleep(((order.spreadMs ?? 0) * caller) / callers)
        while (goesOn()) if ((await turn(caller)).kind === 'error') await sleep(afterErrorMs)
      }),
    )
  } else {
    const free = clients.map((_, caller) => caller)
    const out = new Set<Promise<unknown>>()
    let arrived = 0
    // What is due at the end is sent at the end, even if the last tick was late.
    for (let last = false; ; last = !goesOn()) {
      for (; arrived < Math.min(elapsed(), seconds) * perSecond && sent < turns; arrived++) {
        const caller = free.pop()
        if (caller === undefined) tally.unsent += 1
        else {
          const turned = turn(caller).finally(() => {
            free.push(caller)
            out.delete(turned)
          })
          out.add(turned)
        }
      }
      if (last) break
      await sleep(tickMs)
    }
    await Promise.all(out)
  }
  const { user, system } = process.cpuUsage(cpuBefore)
  const news = tally.news(elapsed(), (user + system) / 1000)
  await Promise.all(clients.map((client) => client.destroy()))
  return news
}

/** `place` is a different one for each caller, in every round. */
function fillingOf({ prefix, users, keys, message }: LoadOrder, { number, place }: { number: number; place: number }): Filling {
  const own = `${prefix}-${number}`
  const text = message ?? 'message: hello there'
  return {
    user: users?.[place % users.length] ?? own,
    key: keys?.[place % keys.length] ?? own,
    text: keys ? text : `${text} ${number}`,
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, Math.max(0, ms)))

process.on('message', (order: LoadOrder) => void run(order).then((news) => process.send!(news)))
process.on('disconnect', () => process.exit())
