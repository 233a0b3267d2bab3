/** Deletes a provider after explaining what that means. The server refuses if it is in use; the agents that use it are listed here. */
import { Anchor, List, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import { call, segment } from '../../api/client.ts'
import type { Agent, Provider } from '../../api/types.ts'
import { Confirm } from '../../show/confirm.tsx'

export function DeleteProvider({ provider, usedBy, onClose }: { provider: Provider | null; usedBy: Agent[]; onClose: () => void }) {
  const queries = useQueryClient()
  const remove = useMutation({
    meta: { done: 'Provider deleted' },
    mutationFn: (id: string) => call<void>(`/providers/${segment(id)}`, { method: 'DELETE' }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['providers'] })
      onClose()
    },
  })
  const close = (): void => {
    remove.reset()
    onClose()
  }
  return (
    <Confirm
      opened={provider !== null}
      title={`Delete provider ${provider?.name ?? ''}?`}
      verb="Delete provider"
      pending={remove.isPending}
      error={remove.error}
      onConfirm={() => provider && remove.mutate(provider.id)}
      onClose={close}
    >
      {usedBy.length === 0 ? (
        <Text>
          Its base URL and encrypted API key are removed permanently. No agent uses it now, but agents can no longer be rolled back to
          versions that use it.
        </Text>
      ) : (
        <Stack gap="xs">
          <Text>This provider is in use. Before you delete it, switch these agents to another provider:</Text>
          <List>
            {usedBy.map(({ id, name, model }) => (
              <List.Item key={id}>
                <Anchor component={Link} href={`/agents/${id}`} underline="always">
                  {name}
                </Anchor>{' '}
                ({model})
              </List.Item>
            ))}
          </List>
        </Stack>
      )}
    </Confirm>
  )
}
