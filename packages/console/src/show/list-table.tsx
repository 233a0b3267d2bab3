/**
 * A table of a list. On a phone, each row is a card: the first cell is its heading, and the others have the names of their columns before
 * them. On a wide screen it scrolls sideways if there is too little room.
 */
import { Table } from '@mantine/core'
import type { TableProps } from '@mantine/core'
import { useEffect, useRef } from 'react'

/** `minWidth` in pixels, for screens that are wider than a phone. */
export function ListTable({ minWidth, children, ...props }: TableProps & { minWidth: number }) {
  const table = useRef<HTMLTableElement>(null)
  useEffect(() => nameCells(table.current!), [])
  return (
    <Table.ScrollContainer minWidth={minWidth} className="list-scroll">
      <Table ref={table} className="list-table" {...props}>
        {children}
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
