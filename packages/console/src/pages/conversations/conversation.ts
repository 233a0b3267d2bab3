/** One conversation and those of its turns that have no messages: running, failed, released or cancelled. */
import { useQuery } from '@tanstack/react-query'
import { call, segment } from '../../api/client.ts'
import { maxPage } from '../../api/lists.ts'
import type { Conversation, Page, Turn } from '../../api/types.ts'

export const useConversation = (id: string) =>
  useQuery({
    queryKey: ['conversations', id, 'itself'],
    queryFn: ({ signal }) => call<Conversation>(`/conversations/${segment(id)}`, { signal }),
    // The name of an end user, who may have been erased meanwhile.
    gcTime: 0,
  })

/** `lookedBackTo`: older ones may be missing. Null: these are all. */
export type Unanswered = { turns: Turn[]; lookedBackTo: string | null }

const states = ['running', 'failed', 'released', 'cancelled'] as const
// How often a person would check for a reply.
const runningMs = 3_000

export function useUnanswered(conversationId: string) {
  return useQuery({
    queryKey: ['turns', 'unanswered', conversationId],
    queryFn: async ({ signal }): Promise<Unanswered> => {
      const found = await Promise.all(
        states.map((status) => call<Page<Turn>>('/turns', { query: { conversation_id: conversationId, status, limit: maxPage }, signal })),
      )
      // A conversation with more than one page of such turns has a problem that the newest ones show.
      const ends = found.flatMap(({ data, next_cursor: next }) => (next === null ? [] : (data.at(-1)?.created_at ?? [])))
      return { turns: found.flatMap(({ data }) => data), lookedBackTo: ends.toSorted().at(-1) ?? null }
    },
    refetchInterval: ({ state }) => (state.data?.turns.some((turn) => turn.status === 'running') ? runningMs : false),
  })
}
