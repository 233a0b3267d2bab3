/** Deletes an agent: explains what is deleted and what stays, and requires its name, because deletion cannot be undone. */
import { Button, Fieldset, Group, List, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { useLocation } from 'wouter'
import { call, segment } from '../../../api/client.ts'
import type { Agent } from '../../../api/types.ts'
import { FailureNote } from '../../../show/failure-note.tsx'

export function DeleteAgent({ agent }: { agent: Agent }) {
  const [opened, { open, close }] = useDisclosure()
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
      <Modal opened={opened} onClose={close} title="Delete agent?" centered closeButtonProps={{ 'aria-label': 'Close' }}>
        <Meaning agent={agent} onClose={close} />
      </Modal>
    </Fieldset>
  )
}

function Meaning({ agent, onClose }: { agent: Agent; onClose(): void }) {
  const [, navigate] = useLocation()
  const queries = useQueryClient()
  const [typed, setTyped] = useState('')
  const gone = useMutation({
    meta: { done: 'Agent deleted' },
    mutationFn: () => call<void>(`/agents/${segment(agent.id)}`, { method: 'DELETE' }),
    onSuccess: () => {
      navigate('/agents')
      queries.removeQueries({ queryKey: ['agents', agent.id] })
      void queries.invalidateQueries({ queryKey: ['agents'] })
    },
  })
  const isNamed = typed.trim() === agent.name.trim()
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isNamed) gone.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack>
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
        <TextInput
          label={`Type the agent’s name to confirm: ${agent.name}`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
        <FailureNote error={gone.error} title="Could not delete the agent" />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" color="red" disabled={!isNamed} loading={gone.isPending}>
            Delete agent
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
