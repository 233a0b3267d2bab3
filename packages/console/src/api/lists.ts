/** The lists of the admin API as the pages use them. A mutation invalidates lists by the first word of their key. */
import { queryOptions, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import { call, segment } from './client.ts'
import type { Query } from './client.ts'
import { useMay } from './session.ts'
import type { Agent, Key, Owner, Page, Provider, Turn } from './types.ts'

/** The largest page size of the server. */
export const maxPage = 100

/** The most items of a list that a page has at a time. More of them would make each change of the page slow. */
const maxItems = 150

/** Two screens of rows: fast to render, and seldom pressed for more. */
export const pageSize = 25

/** `first`: how many items before `items` are not in the page anymore. */
export type List<Item> = {
  items: Item[]
  first: number
  more: boolean
  query: UseInfiniteQueryResult<unknown, Error>
  loadMore(): void
  /** Loads the start of the list again. */
  backToStart(): void
}

/** Where a page of a list starts: its cursor, and how many items are before it. */
type Start = { cursor: string | undefined; first: number }

/** Loads page after page, for long lists. Only the last `maxItems` items stay in the page, unless it `keepsAll`. */
export function useList<Item>(
  key: readonly unknown[],
  path: string,
  query: Query = {},
  options: { limit?: number; refetchMs?: number; enabled?: boolean; keepsAll?: boolean } = {},
): List<Item> {
  const { limit = pageSize, refetchMs, enabled = true, keepsAll = false } = options
  const queries = useQueryClient()
  const queryKey = [...key, query]
  const found = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam: { cursor }, signal }) => call<Page<Item>>(path, { query: { ...query, limit, cursor }, signal }),
    initialPageParam: { cursor: undefined, first: 0 } as Start,
    getNextPageParam: ({ next_cursor: next, data }, _pages, { first }): Start | undefined =>
      next ? { cursor: next, first: first + data.length } : undefined,
    // There are no cursors backwards: the start is loaded again.
    getPreviousPageParam: () => undefined,
    ...(keepsAll ? {} : { maxPages: Math.max(1, Math.floor(maxItems / limit)) }),
    refetchInterval: refetchMs ?? false,
    enabled,
  })
  return {
    items: found.data?.pages.flatMap(({ data }) => data) ?? [],
    first: (found.data?.pageParams[0] as Start | undefined)?.first ?? 0,
    more: found.hasNextPage,
    query: found,
    loadMore: () => void found.fetchNextPage(),
    backToStart: () => void queries.resetQueries({ queryKey, exact: true }),
  }
}

/** Where `readAll` stops. */
export const maxRead = 1_000

/** The whole list, for lists of a few dozen items. Stops at a thousand. */
export async function readAll<Item>(path: string, signal: AbortSignal, query: Query = {}): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | null | undefined
  do {
    const page: Page<Item> = await call<Page<Item>>(path, { query: { ...query, limit: maxPage, cursor }, signal })
    items.push(...page.data)
    cursor = page.next_cursor
  } while (cursor && items.length < maxRead)
  return items
}

export const useOwners = () => useQuery({ queryKey: ['owners'], queryFn: ({ signal }) => readAll<Owner>('/owners', signal) })
/** Providers concern the whole installation: a principal that is restricted to an owner gets none. */
export const useProviders = () =>
  useQuery({
    queryKey: ['providers'],
    queryFn: ({ signal }) => readAll<Provider>('/providers', signal),
    enabled: useMay('read', true),
  })
export const useAgents = () => useQuery({ queryKey: ['agents'], queryFn: ({ signal }) => readAll<Agent>('/agents', signal) })
export const useAgent = (id: string) =>
  useQuery({ queryKey: ['agents', id], queryFn: ({ signal }) => call<Agent>(`/agents/${segment(id)}`, { signal }) })
export const keysQuery = (agentId: string) =>
  queryOptions({ queryKey: ['keys', agentId], queryFn: ({ signal }) => readAll<Key>(`/agents/${segment(agentId)}/keys`, signal) })
export const useKeys = (agentId: string) => useQuery(keysQuery(agentId))
/** Of all agents, as many as tell which providers fail. */
export const useNewestTurns = () =>
  useQuery({
    queryKey: ['turns', 'newest'],
    queryFn: ({ signal }) => call<Page<Turn>>('/turns', { query: { limit: maxPage }, signal }),
    refetchInterval: 30_000,
  })
