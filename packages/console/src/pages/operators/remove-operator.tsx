/** Removes an operator: requires its name, because removing cannot be undone. */
import { Button, Fieldset, Group, List, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { useLocation } from 'wouter'
import { call, segment } from '../../api/client.ts'
import type { Operator } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'

export function RemoveOperator({ operator }: { operator: Operator }) {
  const [opened, { open, close }] = useDisclosure()
  return (
    <Fieldset legend="Remove operator">
      <Group justify="space-between">
        <Text size="sm" maw={560}>
          Removing an operator is permanent. To pause it, disable it instead.
        </Text>
        <Button color="red" variant="outline" onClick={open}>
          Remove operator…
        </Button>
      </Group>
      <Modal opened={opened} onClose={close} title="Remove operator?">
        <Meaning operator={operator} onClose={close} />
      </Modal>
    </Fieldset>
  )
}

function Meaning({ operator, onClose }: { operator: Operator; onClose: () => void }) {
  const [, navigate] = useLocation()
  const queries = useQueryClient()
  const [typed, setTyped] = useState('')
  const remove = useMutation({
    meta: { done: 'Operator removed' },
    mutationFn: () => call<void>(`/operators/${segment(operator.id)}`, { method: 'DELETE' }),
    onSuccess: () => {
      navigate('/operators')
      queries.removeQueries({ queryKey: ['operators', operator.id] })
      void queries.invalidateQueries({ queryKey: ['operators'] })
    },
  })
  const isNamed = typed.trim() === operator.name.trim()
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isNamed) remove.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <List size="sm" spacing={4}>
          <List.Item>{operator.email} can no longer sign in, and is signed out everywhere immediately.</List.Item>
          <List.Item>The password, passkeys and links are deleted.</List.Item>
          <List.Item>The audit log keeps the name.</List.Item>
          <List.Item>
            <strong>This cannot be undone.</strong>
          </List.Item>
        </List>
        <TextInput
          label={`Type the operator’s name to confirm: ${operator.name}`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
        <FailureNote error={remove.error} title="Could not remove the operator" />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" color="red" disabled={!isNamed} loading={remove.isPending}>
            Remove operator
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
