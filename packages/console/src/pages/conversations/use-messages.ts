/**
 * The messages of a conversation from the newest back, loaded page by page. Loaded pages are not refetched automatically, because there may
 * be a hundred of them. They are dropped with the page.
 */
import { useInfiniteQuery } from '@tanstack/react-query'
import { call, segment } from '../../api/client.ts'
import { maxPage } from '../../api/lists.ts'
import type { Message, Page } from '../../api/types.ts'

export const useMessages = (conversationId: string) =>
  useInfiniteQuery({
    queryKey: ['conversations', conversationId, 'transcript'],
    queryFn: ({ pageParam, signal }) =>
      call<Page<Message>>(`/conversations/${segment(conversationId)}/messages`, {
        query: { limit: maxPage, cursor: pageParam },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor: next }) => next ?? undefined,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    // Otherwise each page would compare everything loaded so far.
    structuralSharing: false,
  })

export type Messages = ReturnType<typeof useMessages>
