/**
 * What is stored of the operator's own conversation with an agent: its messages, other conversations of the playground, and the turn that is still
 * being answered in it. The playground's key stands in no list of keys, and that is how its conversations are told from those of callers.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { call } from '../../api/client.ts'
import { useKeys, useList } from '../../api/lists.ts'
import type { Conversation, Message, Page, Turn } from '../../api/types.ts'

/** The newest of the playground's, and of `externalUserId` alone where one is given. */
function usePlaygroundConversations(agentId: string, externalUserId?: string) {
  const keys = useKeys(agentId)
  const query = { agent_id: agentId, external_user_id: externalUserId, limit: 100 }
  const found = useQuery({
    queryKey: ['conversations', 'playground', query],
    queryFn: ({ signal }) => call<Page<Conversation>>('/conversations', { query, signal }),
  })
  const listed = keys.data && new Set(keys.data.map(({ id }) => id))
  return { ...found, error: found.error ?? keys.error, data: listed && found.data?.data.filter(({ key_id: keyId }) => !listed.has(keyId)) }
}

/** External users whom the operator has played before, newest first. */
export function usePlayedUsers(agentId: string): string[] {
  const conversations = usePlaygroundConversations(agentId)
  return [...new Set(conversations.data?.flatMap(({ external_user_id: user }) => user ?? []))]
}

/** `conversation` is null where nothing has been stored yet; undefined while it is looked for. */
export function useStoredConversation(agentId: string, externalUserId: string) {
  const found = usePlaygroundConversations(agentId, externalUserId)
  const conversation = found.data && (found.data[0] ?? null)
  const id = conversation?.id ?? ''
  const messages = useList<Message>(
    ['conversations', id, 'messages'],
    `/conversations/${id}/messages`,
    {},
    { limit: 30, enabled: id !== '' },
  )
  return { conversation, messages, error: found.error ?? messages.query.error }
}

// As often as a person looks whether it is done.
const askAgainMs = 2_000

/** The turn of this conversation that is being answered, whoever asked; what it leaves behind is read when it ends. Not asked while `reading` itself. */
export function useRunningTurn(agentId: string, conversationId: string | undefined, reading: boolean): Turn | undefined {
  const queries = useQueryClient()
  const isOurs = (turn: Turn): boolean => turn.conversation_id === conversationId
  const query = { agent_id: agentId, status: 'running', limit: 100 }
  const found = useQuery({
    queryKey: ['turns', 'running', query],
    queryFn: ({ signal }) => call<Page<Turn>>('/turns', { query, signal }),
    enabled: conversationId !== undefined && !reading,
    refetchInterval: ({ state }) => (state.data?.data.some(isOurs) ? askAgainMs : false),
  })
  const running = reading ? undefined : found.data?.data.find(isOurs)
  const was = useRef<string>(undefined)
  useEffect(() => {
    if (was.current !== undefined && !running) {
      void queries.invalidateQueries({ queryKey: ['conversations'] })
      void queries.invalidateQueries({ queryKey: ['owners'] })
    }
    was.current = running?.request_id
  }, [running, queries])
  return running
}
