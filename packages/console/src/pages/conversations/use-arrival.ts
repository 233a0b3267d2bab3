/**
 * Scrolls to a turn that the address names, once: older pages are loaded until it is there. While the rows around it load their texts, it is
 * scrolled to again, unless the reader does something.
 */
import { useEffect, useEffectEvent, useState } from 'react'
import type { Row } from './transcript-rows.ts'
import { indexOfTurn } from './transcript-rows.ts'
import type { Messages } from './use-messages.ts'

type Arrival = { rows: Row[]; messages: Messages; requestId: string | null; pattern: RegExp | null; scrollTo(index: number): void }

/** Returns whether it is still looking. */
export function useArrival({ rows, messages, requestId, pattern, scrollTo }: Arrival): boolean {
  const [isLooking, setLooking] = useState(requestId !== null)
  const [found, setFound] = useState<number | null>(null)
  const scroll = useEffectEvent(scrollTo)
  useEffect(() => (found === null ? undefined : keepInView(() => scroll(found))), [found])
  const { hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = messages
  const look = useEffectEvent(() => {
    const index = requestId === null ? -1 : indexOfTurn(rows, requestId, pattern)
    if (index >= 0) setFound(index)
    else if (hasNextPage && !isFetchNextPageError) return void fetchNextPage()
    setLooking(false)
  })
  useEffect(() => {
    if (isLooking && !isFetching) look()
  }, [isLooking, isFetching, rows])
  return isLooking
}

const againAfterMs = [0, 100, 300, 700, 1_500]
const acts = ['wheel', 'pointerdown', 'keydown', 'touchmove'] as const

/** Returns what stops it. */
function keepInView(scroll: () => void): () => void {
  const timers = againAfterMs.map((ms) => setTimeout(scroll, ms))
  const stop = (): void => {
    for (const timer of timers) clearTimeout(timer)
    for (const act of acts) window.removeEventListener(act, stop)
  }
  for (const act of acts) window.addEventListener(act, stop, { passive: true })
  return stop
}
