/** Keys in a transcript: arrow keys, `j` and `k` go from message to message, and Enter opens the turn of one. */
import { useEffect, useRef } from 'react'
import type { KeyboardEvent, RefObject } from 'react'
import type { Row } from './transcript-rows.ts'

const moves: Record<string, number> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }

type Walk = {
  scroller: RefObject<HTMLElement | null>
  rows: Row[]
  /** The row that has the focus. -1: none. */
  focusedIndex: number
  scrollTo(index: number): void
  onOpen(requestId: string): void
}

export function useWalk({ scroller, rows, focusedIndex, scrollTo, onOpen }: Walk): (event: KeyboardEvent<HTMLElement>) => void {
  const wanted = useRef<string>(null)
  // After every render, because the row is rendered only after it was scrolled to.
  useEffect(() => {
    if (wanted.current === null) return
    const row = scroller.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(wanted.current)}"]`)
    if (!row) return
    wanted.current = null
    row.focus({ preventScroll: true })
  })
  return (event) => {
    const { target, key } = event
    if (event.ctrlKey || event.metaKey || event.altKey || !(target instanceof HTMLElement)) return
    // Not in a text field, a button or the text of a running turn.
    if (target !== scroller.current && target.getAttribute('data-key') === null) return
    const step = moves[key]
    if (step !== undefined) {
      const next = focusedIndex === -1 ? rows.length - 1 : Math.min(Math.max(focusedIndex + step, 0), rows.length - 1)
      wanted.current = rows[next]!.key
      scrollTo(next)
      const row = scroller.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(rows[next]!.key)}"]`)
      if (row) {
        wanted.current = null
        row.focus({ preventScroll: true })
      }
    } else if (key === 'Enter' && focusedIndex >= 0) onOpen(rows[focusedIndex]!.requestId)
    else return
    event.preventDefault()
  }
}
