/**
 * The messages of a conversation, from the newest back, a page at a time as the reader asks. What has been read is not read again by itself:
 * a hundred pages would be. It is forgotten with the page.
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
    // A comparison of everything read so far with itself, at each page.
    structuralSharing: false,
  })

export type Messages = ReturnType<typeof useMessages>
