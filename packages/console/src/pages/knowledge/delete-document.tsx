/** Deletes a document from a knowledge base after explaining what that means. */
import { Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call, segment } from '../../api/client.ts'
import type { Document } from '../../api/types.ts'
import { Confirm } from '../../show/confirm.tsx'

/** Open while there is a `document`. */
export function DeleteDocument({ document, onClose }: { document: Document | null; onClose(): void }) {
  const queries = useQueryClient()
  const remove = useMutation({
    meta: { done: 'Document deleted' },
    mutationFn: ({ agent_id: agentId, id }: Document) =>
      call<void>(`/agents/${segment(agentId)}/documents/${segment(id)}`, { method: 'DELETE' }),
    onSuccess: async (_, { agent_id: agentId }) => {
      onClose()
      await queries.invalidateQueries({ queryKey: ['documents', agentId] })
    },
  })
  const close = (): void => {
    remove.reset()
    onClose()
  }
  return (
    <Confirm
      opened={document !== null}
      title="Delete document?"
      verb="Delete document"
      pending={remove.isPending}
      error={remove.error}
      onConfirm={() => document && remove.mutate(document)}
      onClose={close}
    >
      <Text className="as-written">
        {document?.title} is removed from the knowledge base and cannot be restored. Existing replies that cite it keep its title.
      </Text>
    </Confirm>
  )
}
