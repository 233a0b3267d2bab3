/** One conversation beside its messages: whose it is, and its turns that have none, which are running, failed or released. */
import { useQuery } from '@tanstack/react-query'
import { call, segment } from '../../api/client.ts'
import { maxPage } from '../../api/lists.ts'
import type { Conversation, Page, Turn } from '../../api/types.ts'

export const useConversation = (id: string) =>
  useQuery({
    queryKey: ['conversations', id, 'itself'],
    queryFn: ({ signal }) => call<Conversation>(`/conversations/${segment(id)}`, { signal }),
    // It names a person, who may be erased by another hand.
    gcTime: 0,
  })

/** `lookedBackTo`: older ones may be missing; null: these are all. */
export type Unanswered = { turns: Turn[]; lookedBackTo: string | null }

const states = ['running', 'failed', 'released'] as const
// As often as a person looks whether a reply has come.
const runningMs = 3_000

export function useUnanswered(conversationId: string) {
  return useQuery({
    queryKey: ['turns', 'unanswered', conversationId],
    queryFn: async ({ signal }): Promise<Unanswered> => {
      const found = await Promise.all(
        states.map((status) => call<Page<Turn>>('/turns', { query: { conversation_id: conversationId, status, limit: maxPage }, signal })),
      )
      // A conversation with more than a page of them is in trouble that its newest ones show.
      const ends = found.flatMap(({ data, next_cursor: next }) => (next === null ? [] : (data.at(-1)?.created_at ?? [])))
      return { turns: found.flatMap(({ data }) => data), lookedBackTo: ends.toSorted().at(-1) ?? null }
    },
    refetchInterval: ({ state }) => (state.data?.turns.some((turn) => turn.state === 'running') ? runningMs : false),
  })
}
