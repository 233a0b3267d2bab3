/**
 * The messages of this visit and the progress of their replies. A message keeps its Idempotency-Key, so asking for its reply again never
 * starts a second turn: a stored reply is returned, and a running turn is awaited.
 */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { ApiFailure, segment } from '../../api/client.ts'
import { randomId } from '../../api/random-id.ts'
import { failureOfStream, streamTurn } from '../../api/stream.ts'
import { useCancel } from '../../api/turns.ts'
import { pacedText } from '../../show/paced-text.ts'

const cancelledCode = 'turn_cancelled'

export type Exchange = {
  idempotencyKey: string
  message: string
  /** The time it was sent, by the viewer's clock. */
  at: string
  /**
   * sending: no event yet; awaiting: a request with the same key is still being answered; stopped: the viewer stopped waiting for a turn
   * whose ID is not known; cancelled: the turn was cancelled before it had any text; lost: the connection broke; failed: the turn ended
   * without a reply; refused: no turn was started, or its stored failure was returned.
   */
  state: 'sending' | 'awaiting' | 'streaming' | 'stopped' | 'cancelled' | 'lost' | 'completed' | 'failed' | 'refused'
  /** The reply so far. */
  text: string
  requestId: string | null
  failure: ApiFailure | null
  /** From sending to the end of the reply, in milliseconds. Null until then. */
  tookMs: number | null
}

export type Exchanges = {
  all: Exchange[]
  /** Whether a reply is being read. */
  reading: boolean
  /** Returns the Idempotency-Key. */
  send(message: string): string
  askAgain(idempotencyKey: string): void
  /** Cancels the turn whose reply is being read, as soon as its ID is known. Its end is still read. */
  stop(): void
  /** Whether it is being cancelled. */
  stopping: boolean
  /** Why it could not be cancelled. */
  stopFailure: Error | null
  /** Removes a message without a reply, and returns its text. */
  takeBack(idempotencyKey: string): string
}

/** `onTurn` is called with the request ID when a turn has started, and when it has ended. */
export function useExchanges(agentId: string, externalUserId: string, onTurn: (requestId: string) => void): Exchanges {
  const queries = useQueryClient()
  const [all, setAll] = useState<Exchange[]>([])
  const reader = useRef<AbortController | null>(null)
  const cancel = useCancel()
  const [stopping, setStopping] = useState(false)
  const wantsStop = useRef(false)
  const current = useRef<string | null>(null)
  useEffect(() => () => reader.current?.abort(), [])

  const change = (idempotencyKey: string, changed: Partial<Exchange>): void =>
    setAll((before) => before.map((exchange) => (exchange.idempotencyKey === idempotencyKey ? { ...exchange, ...changed } : exchange)))

  // A turn that calls a tool with side effects ends after that call. Until then, the reply is still being read.
  const cancelNow = (requestId: string): void => cancel.mutate(requestId, { onError: () => setStopping(false) })

  const read = useMutation({
    mutationFn: async ({ idempotencyKey, message }: Pick<Exchange, 'idempotencyKey' | 'message'>) => {
      const startedAt = performance.now()
      const { signal } = (reader.current = new AbortController())
      wantsStop.current = false
      current.current = null
      cancel.reset()
      const reply = pacedText((text) => change(idempotencyKey, { text, state: 'streaming' }))
      try {
        const end = await whenAnswered(
          signal,
          () => change(idempotencyKey, { state: 'awaiting' }),
          () =>
            streamTurn(
              `/agents/${segment(agentId)}/playground`,
              { message, external_user_id: externalUserId },
              {
                signal,
                idempotencyKey,
                onEvent(event) {
                  if (event.type === 'response.created') {
                    change(idempotencyKey, { requestId: event.request_id, state: 'streaming' })
                    current.current = event.request_id
                    onTurn(event.request_id)
                    if (wantsStop.current) cancelNow(event.request_id)
                  }
                  if (event.type === 'response.output_text.delta') reply.add(event.delta)
                  if (event.type === 'response.output_text.reset') reply.restart()
                },
              },
            ),
        )
        const text = reply.end()
        if (end.type === 'error') {
          const failure = failureOfStream(end)
          const state = failure.code === cancelledCode ? 'cancelled' : 'failed'
          change(idempotencyKey, { state, text, requestId: end.request_id, failure })
        }
        // A reader that missed deltas gets the whole text here.
        else {
          const { content } = end.message
          const tookMs = Math.round(performance.now() - startedAt)
          change(idempotencyKey, { state: 'completed', text: content, requestId: end.request_id, tookMs })
        }
        onTurn(end.request_id)
      } catch (error) {
        const text = reply.end()
        if (signal.aborted) return change(idempotencyKey, { state: 'stopped', text })
        const refusal = error instanceof ApiFailure && error.status !== 0
        const failure = error instanceof ApiFailure ? error : null
        change(idempotencyKey, {
          state: failure?.code === cancelledCode ? 'cancelled' : refusal ? 'refused' : 'lost',
          text,
          failure,
          ...(failure?.requestId ? { requestId: failure.requestId } : {}),
        })
        throw error
      } finally {
        setStopping(false)
        current.current = null
      }
    },
    onSettled: () =>
      Promise.all(['conversations', 'owners', 'turns', 'usage', 'ledger'].map((noun) => queries.invalidateQueries({ queryKey: [noun] }))),
  })

  return {
    all,
    reading: all.some(({ state }) => isReading(state)),
    send(message) {
      const idempotencyKey = randomId()
      setAll((before) => [
        ...before,
        {
          idempotencyKey,
          message,
          at: new Date().toISOString(),
          state: 'sending',
          text: '',
          requestId: null,
          failure: null,
          tookMs: null,
        },
      ])
      read.mutate({ idempotencyKey, message })
      return idempotencyKey
    },
    askAgain(idempotencyKey) {
      const exchange = all.find((one) => one.idempotencyKey === idempotencyKey)
      if (!exchange) return
      change(idempotencyKey, { state: 'sending', failure: null })
      read.mutate(exchange)
    },
    stop() {
      if (all.some(({ state, requestId }) => state === 'awaiting' && requestId === null)) return reader.current?.abort()
      const waiting = all.find(({ state }) => isReading(state))
      const requestId = current.current ?? waiting?.requestId ?? null
      setStopping(true)
      if (requestId === null) wantsStop.current = true
      else cancelNow(requestId)
    },
    stopping,
    stopFailure: cancel.error,
    takeBack(idempotencyKey) {
      setAll((before) => before.filter((exchange) => exchange.idempotencyKey !== idempotencyKey))
      return all.find((exchange) => exchange.idempotencyKey === idempotencyKey)?.message ?? ''
    },
  }
}

export const isReading = (state: Exchange['state']): boolean => state === 'sending' || state === 'awaiting' || state === 'streaming'

/** If the same message is already being answered, waits for its stored reply, which every request with its key receives. */
async function whenAnswered<Answer>(signal: AbortSignal, onAwaiting: () => void, ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.code !== 'idempotency_in_progress') throw error
      onAwaiting()
      await pause((error.retryAfterSeconds ?? 2) * 1000, signal)
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
