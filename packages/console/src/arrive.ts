/** Moves the focus to the heading of a page that was opened by a link. The first page leaves it where the browser has it. */
import { useCallback, useRef } from 'react'

/** `focused`: a heading at this address was given the focus. */
type Seen = { address: string; focused: boolean }

export function useArrival(): (heading: HTMLElement) => void {
  const seen = useRef<Seen | null>(null)
  return useCallback((heading: HTMLElement) => {
    const address = location.pathname
    const before = seen.current
    const isNew = before !== null && before.address !== address
    // The heading of a page that was still loading had the focus and was replaced.
    const isLost = before?.focused === true && document.activeElement === document.body
    if (isNew || isLost) heading.focus()
    seen.current = { address, focused: isNew || before?.focused === true }
  }, [])
}
