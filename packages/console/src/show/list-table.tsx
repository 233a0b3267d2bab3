/**
 * A table of a list. On a phone, each row is a card: the first cell is its heading, and the others have the names of their columns before
 * them. On a wide screen it scrolls sideways if there is too little room. `j` and `k` go from row to row, and so do the arrow keys from a
 * row on; Enter opens the row. Hundreds of rows are rendered piece by piece, so that the page reacts meanwhile.
 */
import { Table } from '@mantine/core'
import type { TableProps } from '@mantine/core'
import { useDeferredValue, useEffect, useRef } from 'react'

/** `minWidth` in pixels, for screens that are wider than a phone. `hasInputs`: rows change in one piece, because an input must not lag. */
export function ListTable({ minWidth, hasInputs = false, children, ...props }: TableProps & { minWidth: number; hasInputs?: boolean }) {
  const deferred = useDeferredValue(children)
  const table = useRef<HTMLTableElement>(null)
  useEffect(() => nameCells(table.current!), [])
  useEffect(() => walkRows(table.current!), [])
  return (
    <Table.ScrollContainer minWidth={minWidth} className="list-scroll">
      <Table ref={table} className="list-table" {...props}>
        {hasInputs ? children : deferred}
      </Table>
    </Table.ScrollContainer>
  )
}

/** Copies the names of the columns to the cells, for the cards, and again when rows change. Returns what stops it. */
function nameCells(table: HTMLTableElement): () => void {
  const write = (): void => {
    const names = [...table.querySelectorAll('thead th')].map((head) => head.firstChild?.textContent ?? '')
    for (const row of table.querySelectorAll('tbody tr'))
      for (const [index, cell] of [...row.children].entries()) {
        const name = names[index] ?? ''
        if (index > 0 && cell.getAttribute('data-label') !== name) cell.setAttribute('data-label', name)
      }
  }
  write()
  const observer = new MutationObserver(write)
  observer.observe(table, { childList: true, subtree: true })
  return () => observer.disconnect()
}

const moves: Record<string, number> = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }
// `g k` opens a page (shortcuts.ts).
const afterG = 1_500

/** Focuses the first link or button of the next or previous row. Returns what stops it. */
function walkRows(table: HTMLTableElement): () => void {
  let pressedG = -Infinity
  const listen = (event: KeyboardEvent): void => {
    const isShortcut = event.timeStamp - pressedG < afterG
    pressedG = event.key === 'g' ? event.timeStamp : -Infinity
    const step = moves[event.key]
    if (step === undefined || isShortcut || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
    const from = event.target instanceof Element ? event.target : null
    const isInside = from !== null && table.contains(from)
    // Elsewhere, arrow keys scroll, letters are typed, and only the first table of a page has rows to go to.
    if (from?.closest('input, textarea, select, [role="dialog"], [role="listbox"], [role="menu"]')) return
    if (!isInside && (event.key.startsWith('Arrow') || from?.closest('.list-table') || document.querySelector('.list-table') !== table))
      return
    const rows = [...table.querySelectorAll('tbody tr')]
    const at = rows.findIndex((row) => row.contains(from))
    const next = rows[at === -1 ? 0 : at + step]?.querySelector<HTMLElement>('a[href], button')
    if (!next) return
    event.preventDefault()
    next.focus()
    next.scrollIntoView({ block: 'nearest' })
  }
  window.addEventListener('keydown', listen)
  return () => window.removeEventListener('keydown', listen)
}
