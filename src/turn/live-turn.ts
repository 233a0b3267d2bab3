/** A turn while it runs in this process: its abort signal, its text and its result. It outlives the connection that started it. */
import type { ModelUsage } from '../agent/models/model.ts'
import type { TraceRecorder } from '../agent/trace-recorder.ts'
import { charge, smaller } from '../ledger/ledger.ts'
import type { Amount } from '../ledger/ledger.ts'
import type { AdmittedTurn, JournalEntry, SpendLimitExceeded } from '../store/turn-records.ts'
import type { RunningTurn, TurnEnd } from './outcome.ts'
import { TurnText } from './turn-text.ts'
import type { TextListener, TextPosition } from './turn-text.ts'

/**
 * Why a run was stopped from outside. `deadline` and `cancel` end the turn here. With the others, the turn is left to the process that
 * claims it. `withdrawn`: its admission was not stored.
 */
export type StopReason = 'deadline' | 'cancel' | 'lease_lost' | 'drain' | 'withdrawn'

/** As operators read them in a trace. */
const stopMessages: Record<StopReason, string> = {
  deadline: 'the turn exceeded its deadline',
  cancel: 'the turn was cancelled',
  lease_lost: 'another process has taken over the turn',
  drain: 'the server is shutting down',
  withdrawn: 'the admission of the turn was not stored',
}

/** `toolCalls`: the price of the finished ones. */
type Used = { usage: ModelUsage; toolCalls: Amount }

const noTokens = { promptTokens: 0, cachedPromptTokens: 0, cacheWriteTokens: 0, completionTokens: 0, reasoningTokens: 0 }

export class LiveTurn implements RunningTurn {
  readonly admitted: AdmittedTurn
  readonly end: Promise<TurnEnd>
  /** `turn.durable-first`: resolves when the admission is durable, or with false if it was not stored, so that there is no such turn. */
  readonly durable: Promise<boolean>
  readonly #startedAt = performance.now()
  readonly #stop = new AbortController()
  readonly #deadlines: { turnMs: number; answerMs: number }
  #timers: NodeJS.Timeout[] = []
  /** Tool calls with side effects that may have been made and whose end is not stored yet, as `<step>:<part>`. */
  readonly #unknownCalls = new Set<string>()
  readonly #text = new TurnText()
  /** Of an early run until someone listens: its caller gets the same pieces as if it had listened from the start. */
  #held: string[] | undefined
  #resolveEnd!: (end: TurnEnd) => void
  #resolveDurable!: (isStored: boolean) => void
  #stopReason: StopReason | undefined
  #ended = false
  /** Milliseconds from the admission to the first delta, or null before it. */
  firstDeltaMs: number | null = null
  /** `trace.stored`: what the run does. Undefined if traces are off. */
  trace: TraceRecorder | undefined
  /** The hold that the balance did not cover, or 0. The run then ends without a reply. */
  neededHold: Amount = 0n
  /** `billing.spend-limit`: the limit that the next step did not fit in. The run then ends without a reply. */
  exceeded: SpendLimitExceeded | undefined
  #used: Used | undefined
  #usedBefore: Used | undefined

  /** `isEarly`: its admission is not durable yet, so one of `confirm` and `withdraw` must be called. */
  constructor(admitted: AdmittedTurn, deadlines: { turnMs: number; answerMs: number }, isEarly = false) {
    this.admitted = admitted
    this.end = new Promise((resolve) => (this.#resolveEnd = resolve))
    this.durable = new Promise((resolve) => (this.#resolveDurable = resolve))
    this.#deadlines = deadlines
    if (isEarly) this.#held = []
    else this.confirm()
    this.noteStarted(admitted.journal)
    this.noteEnded(admitted.journal)
  }

  get requestId(): string {
    return this.admitted.requestId
  }

  get conversationId(): string {
    return this.admitted.conversationId
  }

  get fence(): number {
    return this.admitted.fence
  }

  get ageMs(): number {
    return performance.now() - this.#startedAt
  }

  get lease(): { requestId: string; fence: number } {
    return { requestId: this.admitted.requestId, fence: this.admitted.fence }
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get ended(): boolean {
    return this.#ended
  }

  get stopReason(): StopReason | undefined {
    return this.#stopReason
  }

  /**
   * `tools.journal`: true if it is unknown whether a tool call took effect. The turn must not run again then, because that would repeat the
   * call.
   */
  get callUnknown(): boolean {
    return this.#unknownCalls.size > 0
  }

  /**
   * The usage and the price of the tool calls of all steps so far; the first call reports those of the journal. What an admission receives as
   * the journal was used by the runs that it continues, and counted when they ended. Recovery receives the steps of its own run as well, so it
   * counts all of them.
   */
  noteUsage(usage: ModelUsage, toolCallsPrice: number): void {
    const used = { usage, toolCalls: BigInt(toolCallsPrice) }
    if (this.#used === undefined && this.admitted.attempt === 1) this.#usedBefore = used
    this.#used = used
  }

  /** `billing.unpaid`: what this run has used, at its price, tool calls included. It is all that its caller can have received. */
  get cost(): Amount {
    return this.#costOf(this.#toolCallsOfRun)
  }

  /**
   * `billing.tool-price`: what a cancel without a reply charges, the finished tool calls of the turn, and what stays unpaid besides, the
   * tokens of this run. Calls of an earlier run that this one continues were never charged, so they are charged here.
   */
  get cancelCost(): { toolCalls: Amount; charged: Amount; writtenOff: Amount; unpaid: Amount } {
    const { price, hold } = this.admitted
    const toolCalls = this.#used?.toolCalls ?? 0n
    const { charged, writtenOff } = charge(noTokens, toolCalls, price, hold)
    return { toolCalls, charged, writtenOff, unpaid: smaller(this.#costOf(0n), hold - charged) }
  }

  get #toolCallsOfRun(): Amount {
    return (this.#used?.toolCalls ?? 0n) - (this.#usedBefore?.toolCalls ?? 0n)
  }

  #costOf(toolCalls: Amount): Amount {
    if (this.#used === undefined) return 0n
    const { usage } = this.#used
    const before = this.#usedBefore?.usage
    const used = {
      promptTokens: usage.promptTokens - (before?.promptTokens ?? 0),
      cachedPromptTokens: usage.cachedPromptTokens - (before?.cachedPromptTokens ?? 0),
      cacheWriteTokens: usage.cacheWriteTokens - (before?.cacheWriteTokens ?? 0),
      completionTokens: usage.completionTokens - (before?.completionTokens ?? 0),
      reasoningTokens: usage.reasoningTokens - (before?.reasoningTokens ?? 0),
    }
    return charge(used, toolCalls, this.admitted.price, this.admitted.hold).charged
  }

  /** Called before the entries are stored: from now on the call may be made. */
  noteStarted(entries: JournalEntry[]): void {
    for (const { kind, step, part } of entries) if (kind === 'tool_started') this.#unknownCalls.add(`${step}:${part}`)
  }

  /** Called when the entries were not stored, and no call is made, because the balance does not cover the calls. */
  noteNotStarted(entries: JournalEntry[]): void {
    for (const { kind, step, part } of entries) if (kind === 'tool_started') this.#unknownCalls.delete(`${step}:${part}`)
  }

  /** Called when the entries are stored. */
  noteEnded(entries: JournalEntry[]): void {
    for (const { kind, step, part } of entries) if (kind === 'tool_finished') this.#unknownCalls.delete(`${step}:${part}`)
    if (this.#stopReason === 'cancel' && !this.callUnknown) this.#abort('cancel')
  }

  /** The text of this attempt so far. */
  get text(): string {
    this.#release()
    return this.#text.text
  }

  listen(listener: TextListener, after?: TextPosition): () => void {
    const stop = this.#text.listen(listener, after)
    this.#release()
    return stop
  }

  deliver(delta: string): void {
    this.firstDeltaMs ??= Math.round(performance.now() - this.#startedAt)
    if (this.#held) this.#held.push(delta)
    else this.#text.append(delta)
  }

  /** The text so far was not the reply, which starts again with this text. Listeners are reset if they have other text. */
  restart(text: string): void {
    if (this.#held) this.#held = []
    this.#text.startOver()
    this.deliver(text)
  }

  #release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const delta of held) this.#text.append(delta)
  }

  /**
   * The first reason stays, except that a lost lease or a drain replaces `deadline` and `cancel`: the turn then belongs to the process that
   * claims it, even if its end waits to be stored here.
   */
  stop(reason: StopReason): void {
    const leaves = reason === 'lease_lost' || reason === 'drain'
    const endsHere = this.#stopReason === 'deadline' || this.#stopReason === 'cancel'
    if (this.#stopReason === undefined || (leaves && endsHere)) this.#stopReason = reason
    // `turn.cancel`: a call with side effects is never abandoned by a cancel. It ends, and its end is journaled, before the run stops.
    if (reason !== 'cancel' || !this.callUnknown) this.#abort(this.#stopReason ?? reason)
  }

  /** `turn.cancel`: the request is stored. One that was stored for an earlier run of the same message does not stop this one. */
  cancel(run: number): void {
    if (run === this.admitted.run) this.stop('cancel')
  }

  #abort(reason: StopReason): void {
    this.#stop.abort(new Error(stopMessages[reason]))
  }

  /** The admission is durable. Text that has arrived before can leave now, and the deadlines of the turn begin. */
  confirm(): void {
    if (this.firstDeltaMs !== null) this.firstDeltaMs = Math.round(this.ageMs)
    this.#timers = [
      setTimeout(() => this.stop('deadline'), this.#deadlines.turnMs),
      // The settlement keeps waiting for the store, but the callers get an error response before they run into their own timeout
      // (`unavailable.unknown`).
      setTimeout(() => this.finish({ kind: 'failed', code: 'service_unavailable', state: null }), this.#deadlines.answerMs),
    ]
    this.#resolveDurable(true)
  }

  /** The admission was not stored. Nothing that this run did may have any effect. */
  withdraw(): void {
    this.#resolveDurable(false)
    this.stop('withdrawn')
    this.finish({ kind: 'failed', code: 'service_unavailable', state: null })
  }

  /** Passes the result to the callers. Only the first result counts. */
  finish(end: TurnEnd): void {
    this.#release()
    if (end.kind === 'completed' && !this.#ended) this.#text.complete(end.reply.content)
    else this.#text.catchUp()
    this.#ended = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#resolveEnd(end)
  }
}

export type Fenced<Outcome> = (fence: number) => Promise<Outcome>

/**
 * Makes a fenced write of a turn. If a commit takes longer than the lease, a process may claim a turn that it admitted itself, and the run
 * continues with the new fence. The store responds in order, so the new fence is known before the write with the old fence is reported as
 * lost.
 */
export async function underOwnFence<Outcome extends { kind: string }>(turn: LiveTurn, write: Fenced<Outcome>): Promise<Outcome> {
  for (;;) {
    const { fence } = turn.admitted
    const outcome = await write(fence)
    if (outcome.kind !== 'lost' || turn.admitted.fence === fence) return outcome
  }
}
