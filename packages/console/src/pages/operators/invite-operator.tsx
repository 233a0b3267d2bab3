/** Invites an operator, and shows the link once. It is only in this dialog's memory. */
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { call } from '../../api/client.ts'
import type { InvitedOperator } from '../../api/types.ts'
import { AccessFields, accessFields, newAccess, writeAccess } from '../../show/access-fields.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'
import { ShownLink } from './shown-link.tsx'

/** Mounted while it is open. */
export function InviteOperator({ onClose }: { onClose: () => void }) {
  const [link, setLink] = useState<{ url: string; name: string; expiresAt: string } | null>(null)
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [access, setAccess] = useState(newAccess)
  const queries = useQueryClient()
  // Without a result, because the query cache would keep the link.
  const invite = useMutation({
    mutationFn: async (): Promise<void> => {
      const body = { name: name.trim(), email: email.trim(), ...writeAccess(access) }
      const invited = await call<InvitedOperator>('/operators', { method: 'POST', body })
      setLink({ url: invited.invitation_url, name: invited.name, expiresAt: invited.invitation_expires_at })
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['operators'] }),
  })
  if (link !== null) return <ShownLink {...link} access={access} onClose={onClose} />
  const refused = refusalOf(invite.error, ['name', 'email', ...accessFields])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (name.trim() !== '' && email.trim() !== '') invite.mutate()
  }
  return (
    <Modal opened onClose={onClose} title="Invite operator" size="lg">
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Name"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={100}
            autoComplete="off"
            required
            data-autofocus
            error={refused.at('name')}
          />
          <TextInput
            type="email"
            label="Email"
            description="Identifies the account. Turnkeep sends no email: you pass the link on."
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
            maxLength={254}
            autoComplete="off"
            required
            error={refused.at('email')}
          />
          <AccessFields value={access} onChange={setAccess} refused={refused} />
          <FailureNote error={refused.rest} title="Could not invite the operator" />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={invite.isPending}>
              Create invitation
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
