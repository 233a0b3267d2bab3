/**
 * Erases this conversation, or all conversations of its end user with every key of the agent. Explains what is erased and what stays
 * before.
 */
import { List, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { call, segment } from '../api/client.ts'
import type { Query } from '../api/client.ts'
import { Confirm } from './confirm.tsx'

export type Erased = { conversations: number; turns: number; messages: number }

/** `onErased` removes what is shown. The query cache is cleared there. */
type EraseProps = { onErased: (erased: Erased) => void; onClose: () => void }

function useErase(path: string, onErased: (erased: Erased) => void, query: Query = {}) {
  return useMutation({ mutationFn: () => call<Erased>(path, { method: 'DELETE', query }), onSuccess: onErased })
}

export function EraseConversation({ conversationId, onErased, onClose }: EraseProps & { conversationId: string }) {
  const erase = useErase(`/conversations/${segment(conversationId)}`, onErased)
  return (
    <Confirm
      opened
      title="Erase conversation?"
      verb="Erase conversation"
      pending={erase.isPending}
      error={erase.error}
      onConfirm={() => erase.mutate()}
      onClose={onClose}
    >
      <WhatGoes>
        <List.Item>Removed: the messages, the texts and steps of the turns, and the end user ID.</List.Item>
        <List.Item>The next message of this end user starts a new conversation without history.</List.Item>
      </WhatGoes>
    </Confirm>
  )
}

type EraseEndUserProps = EraseProps & { agentId: string; externalUserId: string }

export function EraseEndUser({ agentId, externalUserId, onErased, onClose }: EraseEndUserProps) {
  const erase = useErase(`/agents/${segment(agentId)}/end-users`, onErased, { external_user_id: externalUserId })
  return (
    <Confirm
      opened
      title="Erase end user?"
      verb="Erase end user"
      pending={erase.isPending}
      error={erase.error}
      onConfirm={() => erase.mutate()}
      onClose={onClose}
    >
      <Text mb="xs" className="as-written">
        {externalUserId}
      </Text>
      <WhatGoes>
        <List.Item>
          Removed: all conversations of this end user with this agent, under any API key, including messages, texts, steps, and the ID
          itself.
        </List.Item>
        <List.Item>Conversations with other agents are not affected.</List.Item>
      </WhatGoes>
    </Confirm>
  )
}

const WhatGoes = ({ children }: { children: ReactNode }) => (
  <List spacing="xs">
    {children}
    <List.Item>Kept: ledger, charges, token counts, times, and states. They contain no texts and no names.</List.Item>
    <List.Item>Existing backups still contain the removed data until they expire.</List.Item>
    <List.Item>This cannot be undone. Nothing is erased while a turn is running.</List.Item>
  </List>
)
