/** The end of an agent: what goes, what stays, and its name to be typed, since there is no way back. */
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
    <Fieldset legend="Delete" mt="lg">
      <Group justify="space-between">
        <Text size="sm" maw={560}>
          For good. To pause an agent, switch it off instead.
        </Text>
        <Button color="red" variant="outline" onClick={open}>
          Delete the agent …
        </Button>
      </Group>
      <Modal opened={opened} onClose={close} title="Delete the agent?" centered closeButtonProps={{ 'aria-label': 'Close' }}>
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
            New messages are answered 404 <code>agent_not_found</code> from now on. Its API keys stay valid but reach nothing else.
          </List.Item>
          <List.Item>Turns that run finish and are charged. Messages that were answered before are still replayed.</List.Item>
          <List.Item>Its settings, tools, versions and documents are no longer shown, searched or changed.</List.Item>
          <List.Item>
            Conversations, turns, the ledger and the use stay. To take texts out for good, erase the conversations; that can be done
            afterwards too.
          </List.Item>
          <List.Item>
            <strong>It cannot be brought back.</strong>
          </List.Item>
        </List>
        <TextInput
          label={`Type its name to confirm: ${agent.name}`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
        <FailureNote error={gone.error} title="Not deleted" />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" color="red" disabled={!isNamed} loading={gone.isPending}>
            Delete the agent
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
