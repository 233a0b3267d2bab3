/**
 * Copies a text to the clipboard and shows the outcome for a moment; `refused` if the browser has no clipboard (plain HTTP on another
 * machine).
 */
import { useEffect, useState } from 'react'

type Copied = 'copied' | 'refused' | null

// Long enough to be read, short enough that the button is ready for the next copy.
const reportedForMs = 2_000

export function useCopy(): { reported: Copied; copy(text: string): void } {
  const [reported, setReported] = useState<Copied>(null)
  useEffect(() => {
    if (reported === null) return
    const timer = setTimeout(() => setReported(null), reportedForMs)
    return () => clearTimeout(timer)
  }, [reported])
  const copy = async (text: string): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      setReported('copied')
    } catch {
      setReported('refused')
    }
  }
  return { reported, copy: (text) => void copy(text) }
}
