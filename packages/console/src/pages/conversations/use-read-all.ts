/** Loads page after page until the first message, because the API lists the newest messages first. */
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import type { Messages } from './use-messages.ts'

export function useReadAll({ hasNextPage, fetchNextPage }: Messages, onArrived: () => void) {
  const [reading, setReading] = useState(false)
  const stopped = useRef(false)
  const [arrived, setArrived] = useState(0)
  const arrive = useEffectEvent(onArrived)
  // After the rows of the last page have been rendered.
  useEffect(() => {
    if (arrived > 0) arrive()
  }, [arrived])
  useEffect(
    () => () => {
      stopped.current = true
    },
    [],
  )
  const readAll = async (): Promise<void> => {
    stopped.current = false
    setReading(true)
    let more = hasNextPage
    while (more && !stopped.current) {
      const page = await fetchNextPage()
      if (page.isError) stopped.current = true
      more = page.hasNextPage
    }
    setReading(false)
    if (!stopped.current) setArrived((times) => times + 1)
  }
  const stop = (): void => {
    stopped.current = true
  }
  return { reading, readAll: () => void readAll(), stop }
}
