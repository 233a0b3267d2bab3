/**
 * The trace of one run, as it is stored (`trace.stored`): what explains the run and is in no other row. Encodes and decodes it, and bounds
 * its size; nothing else knows its bytes. Prompts, steps, and tool results that are in the journal are not part of it: a reader rebuilds
 * them. trace-recorder.ts fills it. docs/decisions/0033-traces.md has the reasons and the measured cost.
 */
import { deflateSync, inflateSync } from 'node:zlib'
import type { CauseKind } from '../cause-kinds.ts'
import type { EncodedTrace } from '../store/turn-records.ts'
import type { FinishReason, ModelErrorKind, ModelUsage, Passage, ToolCall } from './models/model.ts'

/** Times are whole milliseconds since the process admitted or claimed the turn. */
export type Trace = {
  /** The attempt that ended the run. Earlier ones died and left no trace. */
  attempt: number
  /** How long the message waited for its admission. 0 for a turn that was claimed. */
  waitMs: number
  /** When the run was ready to be stored. */
  endMs: number
  /** The hold at the start of the attempt, and at its end. */
  firstHold: bigint
  lastHold: bigint
  /** Null if the attempt ended before the search, or the agent uses no passages. */
  retrieval: { startMs: number; ms: number; passages: TracedPassage[] } | null
  /** In the order in which they were made. A retry is a call of its own. */
  modelCalls: TracedModelCall[]
  toolCalls: TracedToolCall[]
  /** Texts were shortened or left out, because the trace was too large. */
  cut: boolean
}

/** `used`: false if the passage did not fit in the token budget and was left out of the prompt. */
export type TracedPassage = Passage & { used: boolean }

export type TracedModelCall = {
  step: number
  /** 1 for the first call of a step, and one more for each retry. */
  number: number
  startMs: number
  /** From the start of the call to the first text. Null without text. */
  firstTextMs: number | null
  /** Null while the call runs. */
  ms: number | null
  /** How many of the newest messages before the run were in the prompt. */
  historyMessages: number
  /** Of a complete answer. */
  answer: { usage: ModelUsage; usageEstimated: boolean; finishReason: FinishReason } | null
  error: TracedError | null
  /** The answer, or the part of it that arrived, if it is neither in the journal nor in the reply. */
  text: string | null
  asked: ToolCall[] | null
}

/** `stopped`: the run was stopped from outside. `internal`: an internal error. The message may contain the words of a provider. */
export type TracedError = { kind: ModelErrorKind | 'stopped' | 'internal'; causeKind: CauseKind | null; message: string }

export type TracedToolCall = {
  step: number
  part: number
  startMs: number
  /** Null for a call that was interrupted, or still runs. */
  ms: number | null
  /** What the model got, if it is not in the journal. */
  result: { text: string; isError: boolean } | null
}

// Of JSON, before compression. A usual trace has between 100 bytes and a few KiB; only very large passages or results come near the limit.
export const maxTraceBytes = 256 * 1024
// The number of the format. A trace with another one was written by a newer release.
const format = 1
// A shorter text costs more CPU to compress than its bytes cost to store.
const compressAbove = 2048
// The fastest level, with a window that is large enough for most traces: the state of a larger one takes longer to set up than the work.
const compression = { level: 1, windowBits: 13, memLevel: 5 }
const openBracket = 0x5b

// Stored by their position, so new ones come last.
const errorKinds = ['unavailable', 'refused', 'too_long', 'stopped', 'internal'] as const satisfies TracedError['kind'][]
const finishReasons = ['stop', 'length', 'tool_calls', 'other', 'refused', 'filtered'] as const satisfies FinishReason[]

/** Never longer than `maxTraceBytes`. A short trace is text: a buffer for each turn costs more than the rest of its trace. */
export function encodeTrace(trace: Trace): EncodedTrace {
  const texts = new Texts(maxTraceBytes)
  let json = write(trace, texts)
  for (let budget = maxTraceBytes / 2; isTooLong(json) && budget >= 1; budget /= 4) json = write(trace, new Texts(budget))
  if (json.length <= compressAbove) return json
  // The store's thread receives a copy of the whole buffer behind the bytes, so they must not be a part of a larger one.
  return new Uint8Array(deflateSync(json, compression))
}

const isTooLong = (json: string): boolean => 3 * json.length > maxTraceBytes && Buffer.byteLength(json) > maxTraceBytes

/** Returns undefined for a format that this release does not know. */
export function decodeTrace(bytes: Uint8Array): Trace | undefined {
  const json = bytes[0] === openBracket ? Buffer.from(bytes) : inflateSync(bytes, { maxOutputLength: maxTraceBytes })
  const written = JSON.parse(json.toString()) as Written
  return written[0] === format ? read(written) : undefined
}

/** Arrays, because the names of fields would be most of a short trace. Fields that most traces do not have come last, and are left out. */
type Written = [
  format: number,
  attempt: number,
  waitMs: number,
  endMs: number,
  firstHold: number | string,
  lastHold: number | string,
  modelCalls: WrittenCall[],
  retrieval?: [startMs: number, ms: number, passages: WrittenPassage[]] | 0,
  toolCalls?: WrittenToolCall[],
  cut?: 0 | 1,
]
type WrittenPassage = [documentId: string, title: string, section: string, score: number, used: 0 | 1, text: string]
type WrittenCall = [
  step: number,
  number: number,
  startMs: number,
  firstTextMs: number | null,
  ms: number | null,
  historyMessages: number,
  answer?: [promptTokens: number, completionTokens: number, finishReason: number, usageEstimated?: 0 | 1, ...kinds: number[]] | 0,
  error?: [kind: number, causeKind: CauseKind | 0, message: string] | 0,
  text?: string | 0,
  asked?: [id: string, name: string, given: string][],
]
type WrittenToolCall = [step: number, part: number, startMs: number, ms: number | null, isError?: 0 | 1, result?: string]

/** The texts of a trace, up to a number of characters in total. */
class Texts {
  #left: number
  cut = false

  constructor(left: number) {
    this.#left = left
  }

  take(text: string): string {
    const taken = text.length <= this.#left ? text : text.slice(0, this.#left).toWellFormed()
    if (taken.length < text.length) this.cut = true
    this.#left -= taken.length
    return taken
  }

  get spent(): boolean {
    return this.#left === 0
  }
}

function write({ attempt, waitMs, endMs, firstHold, lastHold, retrieval, modelCalls, toolCalls, cut }: Trace, texts: Texts): string {
  // The texts that explain a failure take what they need first, and the passages what is left.
  const calls = modelCalls.map((call) => writeCall(call, texts))
  const written: Written = [format, attempt, waitMs, endMs, writeAmount(firstHold), writeAmount(lastHold), calls]
  const made = toolCalls.map((call) => writeToolCall(call, texts))
  const passages = retrieval?.passages.map((passage) => writePassage(passage, texts)) ?? []
  const isCut = cut || texts.cut
  if (retrieval || made.length > 0 || isCut) written.push(retrieval ? [retrieval.startMs, retrieval.ms, passages] : 0)
  if (made.length > 0 || isCut) written.push(made)
  if (isCut) written.push(1)
  return JSON.stringify(written)
}

function writeCall(call: TracedModelCall, texts: Texts): WrittenCall {
  const { step, number, startMs, firstTextMs, ms, historyMessages, answer, error, text, asked } = call
  const written: WrittenCall = [step, number, startMs, firstTextMs, ms, historyMessages]
  if (answer) {
    const { usage, usageEstimated, finishReason } = answer
    const figures = [usage.promptTokens, usage.completionTokens, finishReasons.indexOf(finishReason)] as const
    const kinds = [usage.cachedPromptTokens, usage.cacheWriteTokens, usage.reasoningTokens]
    if (kinds.some((tokens) => tokens > 0)) written.push([...figures, usageEstimated ? 1 : 0, ...kinds])
    else written.push(usageEstimated ? [...figures, 1] : [...figures])
  } else written.push(0)
  if (!error && text === null && !asked) return written
  written.push(
    error ? [errorKinds.indexOf(error.kind), error.causeKind ?? 0, texts.take(error.message)] : 0,
    text === null ? 0 : texts.take(text),
  )
  if (asked) written.push(writeAsked(asked, texts))
  return written
}

function writeAsked(asked: ToolCall[], texts: Texts): [string, string, string][] {
  const written: [string, string, string][] = []
  for (const { id, name, arguments: given } of asked) {
    written.push([texts.take(id), texts.take(name), texts.take(given)])
    if (texts.spent) break
  }
  if (written.length < asked.length) texts.cut = true
  return written
}

function writeToolCall({ step, part, startMs, ms, result }: TracedToolCall, texts: Texts): WrittenToolCall {
  return result ? [step, part, startMs, ms, result.isError ? 1 : 0, texts.take(result.text)] : [step, part, startMs, ms]
}

function writePassage({ documentId, title, section, score, used, text }: TracedPassage, texts: Texts): WrittenPassage {
  const source = [documentId, texts.take(title), texts.take(section)] as const
  return [...source, Math.round(score * 10_000) / 10_000, used ? 1 : 0, texts.take(text)]
}

// As a number, an amount is shorter. Above nine million dollars it would not be exact.
const writeAmount = (amount: bigint): number | string => (amount <= Number.MAX_SAFE_INTEGER ? Number(amount) : String(amount))

function read([, attempt, waitMs, endMs, firstHold, lastHold, calls, retrieval, made = [], cut]: Written): Trace {
  return {
    attempt,
    waitMs,
    endMs,
    firstHold: BigInt(firstHold),
    lastHold: BigInt(lastHold),
    retrieval: retrieval ? { startMs: retrieval[0], ms: retrieval[1], passages: retrieval[2].map(readPassage) } : null,
    modelCalls: calls.map(readCall),
    toolCalls: made.map(([step, part, startMs, ms, isError, text]) => ({
      step,
      part,
      startMs,
      ms,
      result: text === undefined ? null : { text, isError: isError === 1 },
    })),
    cut: cut === 1,
  }
}

const readPassage = ([documentId, title, section, score, used, text]: WrittenPassage): TracedPassage => ({
  documentId,
  title,
  section,
  score,
  used: used === 1,
  text,
})

function readCall([step, number, startMs, firstTextMs, ms, historyMessages, answer, error, text, asked]: WrittenCall): TracedModelCall {
  return {
    step,
    number,
    startMs,
    firstTextMs,
    ms,
    historyMessages,
    answer: answer ? readAnswer(answer) : null,
    error: error ? { kind: errorKinds[error[0]]!, causeKind: error[1] === 0 ? null : error[1], message: error[2] } : null,
    text: typeof text === 'string' ? text : null,
    asked: asked ? asked.map(([id, name, given]) => ({ id, name, arguments: given })) : null,
  }
}

function readAnswer([promptTokens, completionTokens, finishReason, usageEstimated, ...kinds]: Exclude<WrittenCall[6], 0 | undefined>) {
  const [cachedPromptTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0] = kinds
  return {
    usage: { promptTokens, cachedPromptTokens, cacheWriteTokens, completionTokens, reasoningTokens },
    usageEstimated: usageEstimated === 1,
    finishReason: finishReasons[finishReason]!,
  }
}
