/** Deletes an agent: explains what is deleted and what stays, and requires its name, because deletion cannot be undone. */
import { Button, Fieldset, Group, List, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { call, segment } from '../../../api/client.ts'
import type { Agent } from '../../../api/types.ts'
import { TypedName } from '../../../show/typed-name.tsx'

export function DeleteAgent({ agent }: { agent: Agent }) {
  const [opened, { open, close }] = useDisclosure()
  const [, navigate] = useLocation()
  const queries = useQueryClient()
  const gone = useMutation({
    meta: { done: 'Agent deleted' },
    mutationFn: () => call<void>(`/agents/${segment(agent.id)}`, { method: 'DELETE' }),
    onSuccess: () => {
      navigate('/agents', { replace: true })
      queries.removeQueries({ queryKey: ['agents', agent.id] })
      void queries.invalidateQueries({ queryKey: ['agents'] })
    },
  })
  return (
    <Fieldset legend="Delete agent" mt="lg">
      <Group justify="space-between">
        <Text size="sm" maw={560}>
          Deleting an agent is permanent. To pause it, disable it instead.
        </Text>
        <Button color="red" variant="outline" onClick={open}>
          Delete agent…
        </Button>
      </Group>
      <TypedName
        opened={opened}
        what="agent"
        name={agent.name}
        verb="Delete"
        pending={gone.isPending}
        error={gone.error}
        onConfirm={() => gone.mutate()}
        onClose={close}
      >
        <List size="sm" spacing={4}>
          <List.Item>
            New messages are rejected with 404 <code>agent_not_found</code>. Its API keys stay active but work for no other agent.
          </List.Item>
          <List.Item>Running turns finish and are charged. Existing replies can still be replayed.</List.Item>
          <List.Item>Its settings, tools, versions, and documents are no longer available.</List.Item>
          <List.Item>
            Conversations, turns, the ledger, and usage are kept. To remove message texts permanently, erase the conversations before or
            after you delete the agent.
          </List.Item>
          <List.Item>
            <strong>This cannot be undone.</strong>
          </List.Item>
        </List>
      </TypedName>
    </Fieldset>
  )
}
