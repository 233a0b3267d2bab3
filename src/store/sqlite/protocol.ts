/** The messages between the main thread and the store's threads. They can be structured-cloned; errors are sent as plain objects. */
import { ApiError } from '../../errors.ts'
import type { FailureCode } from '../../errors.ts'
import { historyOf } from '../turn-records.ts'
import { StoreUnavailable } from '../store.ts'
import type { AdmittedTurn } from '../turn-records.ts'
import { asStoreError } from './database.ts'

export type Call = { id: number; operation: string; items: unknown[] }
export type Answer = { id: number; outcomes: WireOutcome[] }
/** Sent before the answer to the same call, and before the commit is durable (`turn.durable-first`). */
export type EarlyAnswer = { id: number; early: [index: number, outcome: WireOutcome][] }
/** An answer as it is sent: an outcome that was reported early crosses the thread once. */
export type SentAnswer = { id: number; outcomes: (WireOutcome | 'as reported early')[] }
export type WireOutcome = { value: unknown } | { error: WireError }

type WireError =
  | { kind: 'api'; code: FailureCode; message: string; param: string | undefined }
  | { kind: 'unavailable'; message: string }
  | { kind: 'fault'; message: string; stack: string | undefined }

export type ThreadData = { folder: string; failpoints: string; clockOffset: SharedArrayBuffer }
/** Sent once by a thread when it is ready or could not start. */
export type Opened = { opened: true } | { opened: false; refusal: 'schema' | 'unavailable' | 'fault'; message: string }

/**
 * The outcome of an admission as it is sent: the history as texts only, alternating between user and reply. With forty messages, this costs
 * a fifth of sending forty objects.
 */
export function pack(outcome: WireOutcome): WireOutcome {
  if (!isAdmitted<AdmittedTurn>(outcome)) return outcome
  const { kind, turn } = outcome.value
  const packed: PackedTurn = { ...turn, history: turn.history.map(({ content }) => content) }
  return { value: { kind, turn: packed } }
}

export function unpack(outcome: WireOutcome): WireOutcome {
  if (!isAdmitted<PackedTurn>(outcome)) return outcome
  const { kind, turn } = outcome.value
  const whole: AdmittedTurn = { ...turn, history: historyOf(turn.history) }
  return { value: { kind, turn: whole } }
}

type PackedTurn = Omit<AdmittedTurn, 'history'> & { history: string[] }

const isAdmitted = <Turn>(outcome: WireOutcome): outcome is { value: { kind: 'admitted'; turn: Turn } } =>
  'value' in outcome && (outcome.value as { kind: string }).kind === 'admitted'

export function toWire(thrown: unknown): WireError {
  if (thrown instanceof ApiError) return { kind: 'api', code: thrown.code, message: thrown.message, param: thrown.param }
  const error = asStoreError(thrown)
  if (error instanceof StoreUnavailable) return { kind: 'unavailable', message: error.message }
  return { kind: 'fault', message: error.message, stack: error.stack }
}

export function fromWire(wire: WireError): Error {
  switch (wire.kind) {
    case 'api':
      return new ApiError(wire.code, wire.message, { param: wire.param })
    case 'unavailable':
      return new StoreUnavailable(wire.message)
    case 'fault': {
      const error = new Error(wire.message)
      if (wire.stack !== undefined) error.stack = wire.stack
      return error
    }
  }
}
