/** Deletes one or several documents of a knowledge base after explaining what that means, a few at a time. */
import { List, Progress, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, segment } from '../../api/client.ts'
import type { Document } from '../../api/types.ts'
import { Confirm } from '../../show/confirm.tsx'
import { useToast } from '../../show/toasts.tsx'

const maxAtOnce = 4
// Enough to recognize the selection.
const maxTitles = 5

type DeleteProps = { documents: Document[]; onDeleted(ids: string[]): void; onClose(): void }

/** Open while there are `documents`. */
export function DeleteDocuments({ documents, onDeleted, onClose }: DeleteProps) {
  const queries = useQueryClient()
  const toast = useToast()
  const [done, setDone] = useState(0)
  const remove = useMutation({
    mutationFn: async (wanted: Document[]) => {
      setDone(0)
      const line = [...wanted]
      const deleteNext = async (): Promise<void> => {
        for (let next = line.shift(); next; next = line.shift()) {
          await call<void>(`/agents/${segment(next.agent_id)}/documents/${segment(next.id)}`, { method: 'DELETE' })
          setDone((before) => before + 1)
        }
      }
      await Promise.all(Array.from({ length: maxAtOnce }, deleteNext))
    },
    onSuccess: (_, wanted) => {
      toast(wanted.length === 1 ? 'Document deleted' : `${wanted.length} documents deleted`)
      onDeleted(wanted.map(({ id }) => id))
    },
    // Also after a failure, because some of them may be deleted.
    onSettled: (_answer, _error, [first]) => queries.invalidateQueries({ queryKey: ['documents', first?.agent_id] }),
  })
  const close = (): void => {
    if (remove.isPending) return
    remove.reset()
    onClose()
  }
  const isOne = documents.length === 1
  return (
    <Confirm
      opened={documents.length > 0}
      title={isOne ? 'Delete document?' : `Delete ${documents.length} documents?`}
      verb={isOne ? 'Delete document' : `Delete ${documents.length} documents`}
      pending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate(documents)}
      onClose={close}
    >
      <Stack gap="sm">
        {isOne ? (
          <Text className="as-written">
            {documents[0]?.title} is removed from the knowledge base and cannot be restored. Existing replies that cite it keep its title.
          </Text>
        ) : (
          <>
            <Text>They are removed from the knowledge base and cannot be restored. Existing replies that cite them keep their titles.</Text>
            <List size="sm">
              {documents.slice(0, maxTitles).map(({ id, title }) => (
                <List.Item key={id} className="as-written">
                  {title}
                </List.Item>
              ))}
              {documents.length > maxTitles ? <List.Item>and {documents.length - maxTitles} more</List.Item> : null}
            </List>
          </>
        )}
        {remove.isPending && !isOne ? <Progress value={(100 * done) / documents.length} aria-label="Progress of the deletion" /> : null}
      </Stack>
    </Confirm>
  )
}
