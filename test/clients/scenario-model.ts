/**
 * The model behind the scenarios: one scripted server for all of them, which distinguishes them by the model's name of their agents.
 * Replies as a scenario's `model` says, call by call; the last entry again and again. Uses no timers: it waits until requests of the
 * scenario have ended.
 */
import { startModelServer, cut, gate } from '../support/model-server.ts'
import type { Gate, Part as ScriptedPart, RecordedCall, Reply } from '../support/model-server.ts'
import type { ModelCall, Part } from './scenario-file.ts'

export type ScenarioModel = {
  baseUrl: string
  /** The model of one scenario; its agent's model is `scripted/<name>`. */
  generate(name: string, calls: ModelCall[], otherTurn?: number): Speaker
  close(): Promise<void>
}

/** The message of another turn of the same user. */
export const otherMessage = 'Another message of the same user'

export class Speaker {
  readonly #calls: ModelCall[]
  readonly #otherTurn: number
  readonly #holds: { ended: number; gate: Gate }[] = []
  #asked = 0
  #ended = 0
  #next = Promise.withResolvers<void>()

  /** `otherTurn`: after this many requests of the scenario the other turn's message is answered. */
  constructor(calls: ModelCall[], otherTurn: number) {
    this.#otherTurn = otherTurn
    this.#calls = calls.flatMap((call) => Array.from({ length: call.times ?? 1 }, () => call))
  }

  /** Resolves when the model is called the next time. */
  asked(): Promise<void> {
    return this.#next.promise
  }

  /** A request of the scenario has ended, in any way. */
  requestEnded(): void {
    this.#ended += 1
    for (const { ended, gate: held } of this.#holds) if (this.#ended >= ended) held.open()
  }

  /** No request follows any more: waiting replies continue. */
  callsEnded(): void {
    this.#ended = Infinity
    for (const { gate: held } of this.#holds) held.open()
  }

  reply({ lastUserMessage }: RecordedCall): Reply {
    this.#next.resolve()
    this.#next = Promise.withResolvers()
    if (lastUserMessage === otherMessage) return this.#parts([{ until_requests_ended: this.#otherTurn }, 'The other reply.'])
    const call = this.#calls[Math.min(this.#asked++, this.#calls.length - 1)]!
    if ('status' in call) return { status: call.status }
    const parts = this.#parts(call.says)
    return call.then === 'break' ? [...parts, cut('rst')] : parts
  }

  #parts(says: Part[]): ScriptedPart[] {
    return says.flatMap((part) => {
      if (typeof part === 'string') return part
      if ('kilobytes' in part) return Array.from({ length: part.pieces }, (_, piece) => `${piece} `.padEnd(part.kilobytes * 1024, '.'))
      const held = gate()
      this.#holds.push({ ended: part.until_requests_ended, gate: held })
      if (this.#ended >= part.until_requests_ended) held.open()
      return held
    })
  }
}

export async function startScenarioModel(): Promise<ScenarioModel> {
  const server = await startModelServer()
  const speakers = new Map<string, Speaker>()
  server.when(
    () => true,
    (call) => speakers.get(String(call.body['model']))?.reply(call) ?? { status: 404 },
  )
  return {
    baseUrl: server.baseUrl,
    generate(name, calls, otherTurn = 1) {
      const speaker = new Speaker(calls, otherTurn)
      speakers.set(name, speaker)
      return speaker
    },
    close: server.close,
  }
}
