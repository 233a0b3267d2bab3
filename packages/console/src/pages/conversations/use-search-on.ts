/** Loads page after page of a search until there are enough results, because a page may have none although older ones follow. */
import { useEffect, useState } from 'react'
import type { List } from '../../api/lists.ts'

// A screen of results, and about ten seconds of work for the server.
const enough = 20
const maxPages = 20

export function useSearchOn({ items, more, query, loadMore }: List<unknown>): { isGoingOn: boolean; stop(): void; goOn(): void } {
  const pages = (query.data as { pages: unknown[] } | undefined)?.pages.length ?? 0
  const [limit, setLimit] = useState(maxPages)
  const isGoingOn = more && items.length < enough && pages < limit && !query.isFetchNextPageError
  const { isFetching } = query
  useEffect(() => {
    if (isGoingOn && !isFetching) loadMore()
    // oxlint-disable-next-line react/exhaustive-deps -- loadMore is another function in every render
  }, [isGoingOn, isFetching, pages])
  return { isGoingOn, stop: () => setLimit(0), goOn: () => setLimit(pages + maxPages) }
}
