/** Returns the focus to the previous element when a dialog is gone. A dialog that is removed from the page cannot do this itself. */
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
