/** Two lists of turns, newest first, as one. */
import type { List } from '../../api/lists.ts'
import type { Turn } from '../../api/types.ts'

/**
 * A list that has more ends at its last loaded item: what is older in the other one is not shown before what may come between. Loads of the
 * list that ends first.
 */
export function mergeLists(a: List<Turn>, b: List<Turn>): List<Turn> {
  const endOf = ({ items, more }: List<Turn>): string => (more ? (items.at(-1)?.created_at ?? '') : '')
  const [endA, endB] = [endOf(a), endOf(b)]
  const end = endA > endB ? endA : endB
  const items = [...a.items, ...b.items].filter(({ created_at: at }) => at >= end).toSorted(newestFirst)
  const next = endA > endB ? a : b
  // The one that has not loaded, or has failed, speaks for both.
  const { query } = [a, b].find((one) => one.query.data === undefined || one.query.error) ?? next
  return {
    items,
    first: Math.max(a.first, b.first),
    more: a.more || b.more,
    query,
    loadMore: next.loadMore,
    backToStart() {
      a.backToStart()
      b.backToStart()
    },
  }
}

const newestFirst = (a: Turn, b: Turn): number => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : 0)
