/** Renames an owner. Nothing else of an owner can be edited; its balance changes only through its ledger. */
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { call, segment } from '../../api/client.ts'
import type { Owner } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { errorOfField } from '../../show/field-error.ts'

type RenameOwnerProps = { owner: Owner; opened: boolean; onClose: () => void }

export function RenameOwner({ owner, opened, onClose }: RenameOwnerProps) {
  return (
    <Modal opened={opened} onClose={onClose} title="Rename owner" centered closeButtonProps={{ 'aria-label': 'Close' }}>
      <RenameForm owner={owner} onClose={onClose} />
    </Modal>
  )
}

function RenameForm({ owner, onClose }: { owner: Owner; onClose: () => void }) {
  const queries = useQueryClient()
  const [name, setName] = useState(owner.name)
  const rename = useMutation({
    meta: { done: 'Owner renamed' },
    mutationFn: (to: string) => call<Owner>(`/owners/${segment(owner.id)}`, { method: 'PATCH', body: { name: to } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['owners'] })
      onClose()
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (name.trim() !== '') rename.mutate(name.trim())
  }
  const refused = errorOfField(rename.error, 'name')
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label="Name"
          withAsterisk
          data-autofocus
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={name.trim() === '' ? 'Enter a name.' : refused}
        />
        <FailureNote error={refused ? null : rename.error} title="Could not rename the owner" />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={rename.isPending}>
            Rename owner
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
