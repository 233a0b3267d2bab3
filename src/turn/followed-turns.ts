/**
 * Follows running turns for callers that did not start them here: one of this process, or of another process that shares the store
 * (`stream.resume`, `turn.cancel`). The process that runs a turn sends its text, on request, through the store's messages; the end comes from
 * the store. Messages may be lost: a follower asks again every second, with what it has. Why: docs/decisions/0032-follow-and-cancel.md
 */
import type { Logger } from 'pino'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import type { TurnStatus } from '../store/queries/turn-status.ts'
import type { LiveTurn } from './live-turn.ts'
import type { RunningTurn, TurnEnd } from './outcome.ts'
import type { StoreWarnings } from './store-warnings.ts'
import { TurnText } from './turn-text.ts'
import type { TextListener, TextPosition } from './turn-text.ts'

// Short enough that a text reads as it does in its own process, and one message carries several deltas.
const sendMs = 40
const askMs = 1_000
// A follower that has not asked for this long has gone.
const followedMs = 3 * askMs
// A message has at most 7,999 bytes, and a character takes up to six of them in JSON.
const messageCharacters = 1_200
// As long as a caller of this turn waits for a store that is unavailable.
const unavailableMs = 115_000

type Message =
  /** "Send me the text of this turn": what follows `offset` if the attempt is still the one with this fence, otherwise all of it. */
  | { kind: 'follow'; turn: string; fence: number; offset: number }
  | { kind: 'text'; turn: string; fence: number; offset: number; text: string }
  /** The turn has ended, and its end is stored. */
  | { kind: 'ended'; turn: string }
  | { kind: 'cancel'; turn: string; run: number }

export type FollowedTurnsOptions = {
  store: Pick<Store, 'read' | 'messages'>
  /** Every turn that runs in this process. */
  live: ReadonlyMap<string, LiveTurn>
  log: Logger
  warnings: StoreWarnings
}

export interface FollowedTurns {
  /** The turn, as a caller of this process can follow it: its text is of this attempt or a later one. It was running in the store a moment ago. */
  follow(status: Pick<TurnStatus, 'requestId' | 'conversationId' | 'fence'>): RunningTurn
  /** Asks the process that runs the turn to cancel this run of it, after the request is stored. */
  cancel(requestId: string, run: number): void
  /** A turn has ended in this process. */
  ended(turn: LiveTurn): void
  stop(): void
}

export function followTurns({ store, live, log, warnings }: FollowedTurnsOptions): FollowedTurns {
  const { messages } = store
  const followed = new Map<string, FollowedTurn>()
  /** The turns of this process that others follow, by request ID: how much of the text was sent, and until when they want more. */
  const wanted = new Map<string, { sent: number; until: number }>()
  let sender: NodeJS.Timeout | undefined
  let asker: NodeJS.Timeout | undefined
  const outbox: Message[] = []
  let sending = false
  let [reading, readAgain] = [false, false]
  let stopped = false

  messages?.onMessage((text) => {
    const message = readMessage(text)
    switch (message?.kind) {
      case 'follow':
        return sendFrom(message)
      case 'text':
        return followed.get(message.turn)?.take(message)
      case 'ended':
        return followed.has(message.turn) ? void readEnds() : undefined
      case 'cancel':
        return live.get(message.turn)?.cancel(message.run)
    }
  })

  const report = (what: string, error: unknown): void =>
    error instanceof StoreUnavailable ? warnings.warn(what, error.message) : log.error({ err: error }, what)

  /** What is to be sent while messages are on their way is sent together: hundreds of callers may start to follow turns at once. */
  async function send(list: Message[]): Promise<void> {
    outbox.push(...list)
    if (sending) return
    sending = true
    for (let next = outbox.splice(0); next.length > 0; next = outbox.splice(0))
      await messages
        ?.send(next.map((message) => JSON.stringify(message)))
        .catch((error: unknown) => report('could not send the text of a turn to another process', error))
    sending = false
  }

  function sendFrom({ turn, fence, offset }: Extract<Message, { kind: 'follow' }>): void {
    const running = live.get(turn)
    if (!running) return
    const until = performance.now() + followedMs
    const before = wanted.get(turn)
    const from = fence === running.admitted.fence ? Math.min(offset, running.text.length) : 0
    void send(textOf(running, from, before?.sent ?? running.text.length))
    wanted.set(turn, { sent: before?.sent ?? running.text.length, until })
    sender ??= setInterval(sendNew, sendMs)
  }

  function sendNew(): void {
    const now = performance.now()
    const list: Message[] = []
    for (const [turn, want] of wanted) {
      const running = live.get(turn)
      if (!running || want.until < now) wanted.delete(turn)
      else {
        list.push(...textOf(running, want.sent, running.text.length))
        want.sent = running.text.length
      }
    }
    void send(list)
    if (wanted.size > 0) return
    clearInterval(sender)
    sender = undefined
  }

  /** Asks for the text of turns that are followed here, and reads which of all of them have ended. */
  function ask(turns: FollowedTurn[] = [...followed.values()]): void {
    const remote = turns.filter((turn) => !turn.followsLive(live.get(turn.requestId)))
    void send(remote.map(({ requestId, fence, offset }) => ({ kind: 'follow', turn: requestId, fence, offset })))
    void readEnds()
  }

  async function readEnds(): Promise<void> {
    readAgain = true
    if (reading) return
    reading = true
    for (; readAgain && followed.size > 0;) {
      readAgain = false
      const requestIds = [...followed.keys()]
      try {
        for (const status of await store.read.listEnded(requestIds)) followed.get(status.requestId)?.finish(endOf(status), status.fence)
      } catch (error) {
        report('could not read the end of a turn, retrying', error)
        for (const requestId of requestIds) followed.get(requestId)?.finishIfOverdue()
      }
    }
    reading = false
  }

  return {
    follow({ requestId, conversationId, fence }) {
      const known = followed.get(requestId)
      if (known) {
        known.leaveBefore(fence)
        return known
      }
      const turn = new FollowedTurn(requestId, conversationId, fence)
      followed.set(requestId, turn)
      if (stopped) turn.finish(unknownEnd)
      void turn.end.then(() => {
        followed.delete(requestId)
        if (followed.size > 0) return
        clearInterval(asker)
        asker = undefined
      })
      if (stopped) return turn
      asker ??= setInterval(ask, askMs)
      ask([turn])
      return turn
    },
    cancel(requestId, run) {
      const running = live.get(requestId)
      if (running) running.cancel(run)
      else void send([{ kind: 'cancel', turn: requestId, run }])
    },
    ended(turn) {
      if (followed.has(turn.requestId)) void readEnds()
      if (wanted.delete(turn.requestId)) void send([{ kind: 'ended', turn: turn.requestId }])
    },
    stop() {
      stopped = true
      clearInterval(sender)
      clearInterval(asker)
      for (const turn of followed.values()) turn.finish(unknownEnd)
    },
  }
}

/** Undefined for what is not a message of this version. Anyone who can connect to the database can send anything. */
function readMessage(text: string): Message | undefined {
  try {
    const { kind, turn, run, fence, offset, text: part } = JSON.parse(text) as Record<string, unknown>
    if (typeof turn !== 'string') return undefined
    if (kind === 'ended') return { kind, turn }
    if (kind === 'cancel') return typeof run === 'number' ? { kind, turn, run } : undefined
    if (typeof fence !== 'number' || typeof offset !== 'number') return undefined
    if (kind === 'follow') return { kind, turn, fence, offset }
    return kind === 'text' && typeof part === 'string' ? { kind, turn, fence, offset, text: part } : undefined
  } catch {
    return undefined
  }
}

/** From one offset to another, in messages. */
function textOf({ requestId, text, admitted }: LiveTurn, from: number, to: number): Message[] {
  const list: Message[] = []
  for (let offset = from; offset < to;) {
    let end = Math.min(to, offset + messageCharacters)
    // Never half of a surrogate pair.
    if (end < to && /[\ud800-\udbff]/.test(text[end - 1]!)) end--
    list.push({ kind: 'text', turn: requestId, fence: admitted.fence, offset, text: text.slice(offset, end) })
    offset = end
  }
  return list
}

/** `unavailable.unknown` */
const unknownEnd: TurnEnd = { kind: 'failed', code: 'service_unavailable', state: null }

export function endOf({ state, reply, usage, failureCode }: TurnStatus): TurnEnd {
  if (reply) return { kind: 'completed', reply, details: usage ?? undefined }
  if (state === 'running' || state === 'completed' || failureCode === null) return unknownEnd
  return { kind: 'failed', code: failureCode, state }
}

/** A turn that another process runs, or this one. */
class FollowedTurn implements RunningTurn {
  readonly requestId: string
  readonly conversationId: string
  readonly end: Promise<TurnEnd>
  readonly #text = new TurnText()
  readonly #since = performance.now()
  #resolveEnd!: (end: TurnEnd) => void
  #live: { turn: LiveTurn; stopListening: () => void } | undefined
  /** Of the attempt that the text is of. */
  fence: number

  constructor(requestId: string, conversationId: string, fence: number) {
    this.requestId = requestId
    this.conversationId = conversationId
    this.fence = fence
    this.end = new Promise((resolve) => (this.#resolveEnd = resolve))
  }

  get offset(): number {
    return this.#text.text.length
  }

  listen(listener: TextListener, after?: TextPosition): () => void {
    return this.#text.listen(listener, after)
  }

  /** Returns true if the turn runs in this process: its text then needs no messages. */
  followsLive(turn: LiveTurn | undefined): boolean {
    if (turn && this.#live?.turn === turn && turn.admitted.fence >= this.fence) return true
    // It runs in another process now, or does not run.
    this.#leaveLive()
    if (!turn || turn.admitted.fence < this.fence) return false
    this.#startAttempt(turn.admitted.fence)
    const listener: TextListener = { onText: (text) => this.#text.append(text), onReset: () => this.#text.startOver() }
    this.#live = { turn, stopListening: turn.listen(listener) }
    return true
  }

  take({ fence, offset, text }: Extract<Message, { kind: 'text' }>): void {
    if (this.#live || fence < this.fence) return
    if (fence > this.fence) {
      if (offset > 0) return
      this.#startAttempt(fence)
    }
    // Another follower may have asked for more than this one needs, and a message before this one may be lost: the next question gets it.
    if (offset <= this.offset && offset + text.length > this.offset) this.#text.append(text.slice(this.offset - offset))
  }

  /** The attempt of this fence has started. Nothing more of an earlier one is passed on. */
  leaveBefore(fence: number): void {
    if (fence <= this.fence) return
    this.#leaveLive()
    this.#startAttempt(fence)
  }

  #leaveLive(): void {
    this.#live?.stopListening()
    this.#live = undefined
  }

  #startAttempt(fence: number): void {
    this.fence = fence
    this.#text.startOver()
  }

  finish(end: TurnEnd, fence = this.fence): void {
    this.#leaveLive()
    // `openai.resume`: before the text, so that a listener knows which attempt it is of.
    this.fence = fence
    if (end.kind === 'completed') this.#text.complete(end.reply.content)
    else this.#text.catchUp()
    this.#resolveEnd(end)
  }

  /** The store is unavailable. */
  finishIfOverdue(): void {
    if (performance.now() - this.#since > unavailableMs) this.finish(unknownEnd)
  }
}
