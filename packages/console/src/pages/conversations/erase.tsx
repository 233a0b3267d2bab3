/** Erasure on somebody's word: of this conversation, or of its end user with every key of the agent. What goes and what stays is said before. */
import { List, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { call, segment } from '../../api/client.ts'
import type { Query } from '../../api/client.ts'
import { Confirm } from '../../show/confirm.tsx'

export type Erased = { conversations: number; turns: number; messages: number }

/** `onErased` takes away what is shown; the query cache is emptied there. */
type EraseProps = { onErased: (erased: Erased) => void; onClose: () => void }

function useErase(path: string, onErased: (erased: Erased) => void, query: Query = {}) {
  return useMutation({ mutationFn: () => call<Erased>(path, { method: 'DELETE', query }), onSuccess: onErased })
}

export function EraseConversation({ conversationId, onErased, onClose }: EraseProps & { conversationId: string }) {
  const erase = useErase(`/conversations/${segment(conversationId)}`, onErased)
  return (
    <Confirm
      opened
      title="Erase the conversation"
      verb="Erase the conversation"
      pending={erase.isPending}
      error={erase.error}
      onConfirm={() => erase.mutate()}
      onClose={onClose}
    >
      <WhatGoes>
        <List.Item>Gone: its messages, the texts and steps of its turns, and the external user id in it.</List.Item>
        <List.Item>The external user’s next message begins a new conversation, of which the agent knows nothing from before.</List.Item>
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
      title="Erase the end user"
      verb="Erase the end user"
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
          Gone: every conversation of this external user with any key of this agent, with messages, texts, steps and the id itself.
        </List.Item>
        <List.Item>Conversations with other agents are not touched.</List.Item>
      </WhatGoes>
    </Confirm>
  )
}

const WhatGoes = ({ children }: { children: ReactNode }) => (
  <List spacing="xs">
    {children}
    <List.Item>Staying: ledger, charges, token counts, times and states. They hold no text and no name.</List.Item>
    <List.Item>Backups keep what they have until you let them age out.</List.Item>
    <List.Item>It cannot be undone. While a turn runs nothing is erased.</List.Item>
  </List>
)
