/** Removes an operator: requires its name, because removing cannot be undone. */
import { Button, Fieldset, Group, List, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { call, segment } from '../../api/client.ts'
import type { Operator } from '../../api/types.ts'
import { TypedName } from '../../show/typed-name.tsx'

export function RemoveOperator({ operator }: { operator: Operator }) {
  const [opened, { open, close }] = useDisclosure()
  const [, navigate] = useLocation()
  const queries = useQueryClient()
  const remove = useMutation({
    meta: { done: 'Operator removed' },
    mutationFn: () => call<void>(`/operators/${segment(operator.id)}`, { method: 'DELETE' }),
    onSuccess: () => {
      navigate('/operators')
      queries.removeQueries({ queryKey: ['operators', operator.id] })
      void queries.invalidateQueries({ queryKey: ['operators'] })
    },
  })
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
      <TypedName
        opened={opened}
        what="operator"
        name={operator.name}
        verb="Remove"
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        onClose={close}
      >
        <List size="sm" spacing={4}>
          <List.Item>{operator.email} can no longer sign in, and is signed out everywhere immediately.</List.Item>
          <List.Item>The password, passkeys and links are deleted.</List.Item>
          <List.Item>The audit log keeps the name.</List.Item>
          <List.Item>
            <strong>This cannot be undone.</strong>
          </List.Item>
        </List>
      </TypedName>
    </Fieldset>
  )
}
