/** Gives the focus back to what had it before, once what asks for it is gone. A dialog that is closed by leaving it out cannot do so itself. */
import { useEffect, useState } from 'react'

export function useFocusBack(): void {
  const [before] = useState(() => document.activeElement)
  useEffect(
    () => () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    },
    [before],
  )
}
