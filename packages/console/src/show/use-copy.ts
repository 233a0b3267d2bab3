/** Puts a text on the clipboard and says for a moment what came of it; `refused` where the browser has none (plain HTTP on another machine). */
import { useEffect, useState } from 'react'

type Copied = 'copied' | 'refused' | null

// Long enough to be read, short enough that the button is itself again for the next copy.
const toldForMs = 2_000

export function useCopy(): { told: Copied; copy(text: string): void } {
  const [told, setTold] = useState<Copied>(null)
  useEffect(() => {
    if (told === null) return
    const timer = setTimeout(() => setTold(null), toldForMs)
    return () => clearTimeout(timer)
  }, [told])
  const copy = async (text: string): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      setTold('copied')
    } catch {
      setTold('refused')
    }
  }
  return { told, copy: (text) => void copy(text) }
}
