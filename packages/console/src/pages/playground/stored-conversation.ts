/**
 * The stored part of the operator's conversation with an agent: its messages, other conversations of the playground, and its running turn.
 * The playground's key is in no list of keys, which distinguishes its conversations from those of callers.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { call } from '../../api/client.ts'
import { useKeys, useList } from '../../api/lists.ts'
import type { Conversation, Message, Page, Turn } from '../../api/types.ts'

/** The newest conversation of the playground; with `externalUserId` only that of this user. */
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

/** End users of earlier playground conversations, newest first. */
export function usePlayedUsers(agentId: string): string[] {
  const conversations = usePlaygroundConversations(agentId)
  return [...new Set(conversations.data?.flatMap(({ external_user_id: user }) => user ?? []))]
}

/** `conversation` is null if nothing has been stored yet, and undefined while it is loaded. */
export function useStoredConversation(agentId: string, externalUserId: string) {
  const found = usePlaygroundConversations(agentId, externalUserId)
  const conversation = found.data && (found.data[0] ?? null)
  const id = conversation?.id ?? ''
  const messages = useList<Message>(
    ['conversations', id, 'messages'],
    `/conversations/${id}/messages`,
    {},
    { limit: 30, enabled: id !== '', keepsAll: true },
  )
  return { conversation, messages, error: found.error ?? messages.query.error }
}

// How often a person would check whether it is done.
const askAgainMs = 2_000

/** The running turn of this conversation, whoever started it. Its messages are loaded when it ends. Not requested while `reading`. */
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
