/** Keeps the end of a growing text in view while its reader is there. A reader who scrolls up is not disturbed. */
import { useLayoutEffect, useRef } from 'react'
import type { RefObject } from 'react'

// One line: a reader closer to the end than this follows it.
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
  // After every render, because this hook does not know what makes the text grow.
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
