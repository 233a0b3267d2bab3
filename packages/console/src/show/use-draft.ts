/** What is typed into a field and applies later, such as with Enter. Another applied value replaces it, and the field keeps the focus. */
import { useState } from 'react'

/** `applied`: from the address, which this page, a link or the back button may change. */
export function useDraft(applied: string): [string, (text: string) => void] {
  const [text, setText] = useState(applied)
  const [known, setKnown] = useState(applied)
  if (known !== applied) {
    setKnown(applied)
    setText(applied)
  }
  return [text, setText]
}
