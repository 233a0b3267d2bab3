/** The present time for relative times, renewed every half minute for the whole page. */
import { createContext, startTransition, useContext, useEffect, useState } from 'react'
import type { ReactNode } from 'react'

const renewMs = 30_000

const Now = createContext<number | null>(null)

export function NowProvider({ children }: { children: ReactNode }) {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    // A transition, because a long list has a thousand times.
    const timer = setInterval(() => startTransition(() => setNow(Date.now())), renewMs)
    return () => clearInterval(timer)
  }, [])
  return <Now value={now}>{children}</Now>
}

/** Milliseconds. Something newer than the last renewal is not in the future. */
export const useNow = (): number => useContext(Now) ?? Date.now()
