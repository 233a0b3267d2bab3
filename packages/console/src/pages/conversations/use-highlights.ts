/**
 * Marks the occurrences of a text in what is rendered, without changing the document: replies are Markdown, and rows come and go while
 * scrolling. Browsers without the CSS Custom Highlight API mark nothing.
 */
import { useEffect } from 'react'
import type { RefObject } from 'react'
import { patternOf } from '../../show/find-text.ts'

const name = 'found'

export function useHighlights(root: RefObject<HTMLElement | null>, wanted: string): void {
  useEffect(() => {
    const element = root.current
    const pattern = patternOf(wanted)
    if (!element || !pattern || !('highlights' in CSS)) return
    let frame = 0
    const mark = (): void => {
      CSS.highlights.set(name, new Highlight(...rangesIn(element, pattern)))
    }
    const later = (): void => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(mark)
    }
    later()
    const observer = new MutationObserver(later)
    observer.observe(element, { childList: true, subtree: true, characterData: true })
    return () => {
      observer.disconnect()
      cancelAnimationFrame(frame)
      CSS.highlights.delete(name)
    }
  }, [root, wanted])
}

/** Within one text node each: an occurrence that is partly bold is not marked. */
function rangesIn(element: HTMLElement, pattern: RegExp): Range[] {
  const ranges: Range[] = []
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    for (const found of (node.nodeValue ?? '').matchAll(pattern)) {
      const range = document.createRange()
      range.setStart(node, found.index)
      range.setEnd(node, found.index + found[0].length)
      ranges.push(range)
    }
  return ranges
}
