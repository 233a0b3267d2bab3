/** Keeps the end of a growing text in view while its reader is there; who scrolls up to read is left alone. */
import { useLayoutEffect, useRef } from 'react'
import type { RefObject } from 'react'

// A line: who is nearer to the end than this reads along.
const nearPx = 48

type Followed = {
  ref: RefObject<HTMLDivElement | null>
  onScroll(): void
  /** From now on, wherever the reader was. */
  follow(): void
}

export function useFollowEnd(): Followed {
  const ref = useRef<HTMLDivElement>(null)
  const atEnd = useRef(true)
  // After every drawing: what makes the text grow is not known here.
  useLayoutEffect(() => {
    const box = ref.current
    if (box && atEnd.current) box.scrollTop = box.scrollHeight
  })
  return {
    ref,
    onScroll() {
      const box = ref.current
      if (box) atEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < nearPx
    },
    follow() {
      atEnd.current = true
    },
  }
}
