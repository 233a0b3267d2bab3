/** What a page does with one turn: read it, cancel it, change its feedback, and follow its text, also after a lost connection. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useEffectEvent } from 'react'
import { ApiFailure, call, segment } from './client.ts'
import { followTurn } from './stream.ts'
import type { StreamEvent } from './stream.ts'
import type { StoredFeedback, TurnTrace, TurnWithSteps } from './types.ts'

export const useTurn = (requestId: string) =>
  useQuery({
    queryKey: ['turns', requestId],
    queryFn: ({ signal }) => call<TurnWithSteps>(`/turns/${segment(requestId)}`, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? 2_000 : false),
  })

export const useTrace = (requestId: string) =>
  useQuery({
    queryKey: ['turns', requestId, 'trace'],
    queryFn: ({ signal }) => call<TurnTrace>(`/turns/${segment(requestId)}/trace`, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? 1_000 : false),
  })

/** Everything that the end of a turn changes. */
const changedByTurns = ['conversations', 'owners', 'turns', 'usage', 'ledger']

/** Cancels a running turn. The data is the turn afterwards, which may still run; pages show it, so there is no toast. */
export function useCancel() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (requestId: string) => call<TurnWithSteps>(`/turns/${segment(requestId)}/cancel`, { method: 'POST' }),
    onSettled: () => Promise.all(changedByTurns.map((noun) => queries.invalidateQueries({ queryKey: [noun] }))),
  })
}

export type GivenFeedback = Pick<StoredFeedback, 'rating' | 'comment' | 'tags'>

/** Everything that shows feedback. */
const changedByFeedback = ['turns', 'feedback', 'conversations', 'end-users']

/** Sets the feedback on a turn, or with null removes it. Resolves when the page shows it. */
export function useSaveFeedback(requestId: string) {
  const queries = useQueryClient()
  const path = `/turns/${segment(requestId)}/feedback`
  return useMutation({
    async mutationFn(feedback: GivenFeedback | null): Promise<void> {
      if (feedback === null) return call<void>(path, { method: 'DELETE' })
      const { rating, comment, tags } = feedback
      await call<StoredFeedback>(path, { method: 'PUT', body: { rating, tags, ...(comment === null ? {} : { comment }) } })
    },
    onSuccess: () => Promise.all(changedByFeedback.map((noun) => queries.invalidateQueries({ queryKey: [noun] }))),
  })
}

// How long a person waits before trying again.
const pauseMs = 2_000

/** Calls `onEvent` with the events of a turn while the component is shown. Ends with the last event, or if there is no such turn. */
export function useFollowedTurn(requestId: string, onEvent: (event: StreamEvent) => void): void {
  const report = useEffectEvent(onEvent)
  useEffect(() => {
    const stopping = new AbortController()
    void followToEnd(requestId, stopping.signal, (event) => report(event))
    return () => stopping.abort()
  }, [requestId])
}

/** After an error event the turn may still run: in a process that is stopping, or after a retry of its caller. */
async function followToEnd(requestId: string, signal: AbortSignal, onEvent: (event: StreamEvent) => void): Promise<void> {
  let after: string | undefined
  while (!signal.aborted) {
    try {
      const end = await followTurn(requestId, {
        signal,
        after,
        onEvent(event, id) {
          after = id ?? after
          onEvent(event)
        },
      })
      if (end !== 'error') return
    } catch (error) {
      if (error instanceof ApiFailure && error.status >= 400 && error.status < 500) return
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
