/** The keyboard shortcuts of every page: the command palette, the list of shortcuts, and `g` followed by the letter of a page. */
import { useEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { groups } from './navigation.ts'

const isApple = /mac|iphone|ipad/i.test(navigator.userAgent)
export const paletteKeys = isApple ? '⌘ K' : 'Ctrl K'

// As long as a person needs for the second letter.
const sequenceMs = 1_500

const destinations = new Map(groups.flatMap(({ items }) => items.flatMap(({ keys, href }) => (keys === undefined ? [] : [[keys, href]]))))

/** Typing in a field is never a shortcut, and neither is a key in an open dialog. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || target.closest('input, textarea, select, [role="dialog"], [role="listbox"], [role="menu"]') !== null
}

export function useShortcuts({ onPalette, onList }: { onPalette: () => void; onList: () => void }): void {
  const [, navigate] = useLocation()
  const startedAt = useRef(-Infinity)
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        onPalette()
        return
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const follows = event.timeStamp - startedAt.current < sequenceMs
      startedAt.current = event.key === 'g' && !follows ? event.timeStamp : -Infinity
      const href = follows ? destinations.get(event.key) : undefined
      if (href !== undefined) navigate(href)
      else if (event.key === '?') onList()
    }
    window.addEventListener('keydown', listen)
    return () => window.removeEventListener('keydown', listen)
  }, [navigate, onPalette, onList])
}
