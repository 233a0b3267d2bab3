/** The row of a list that contains the focus, by its `data-key`; null if none does. */
import { useEffect, useState } from 'react'
import type { RefObject } from 'react'

export function useFocusedRow(list: RefObject<HTMLElement | null>): string | null {
  const [key, setKey] = useState<string | null>(null)
  useEffect(() => {
    const element = list.current
    if (!element) return
    const find = ({ target }: FocusEvent): void =>
      setKey(target instanceof Element ? (target.closest('[data-key]')?.getAttribute('data-key') ?? null) : null)
    const forget = (): void => setKey(null)
    element.addEventListener('focusin', find)
    element.addEventListener('focusout', forget)
    return () => {
      element.removeEventListener('focusin', find)
      element.removeEventListener('focusout', forget)
    }
  }, [list])
  return key
}
