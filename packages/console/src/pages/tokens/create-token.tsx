/** Creates a token for a program, and shows it once. It is only in this dialog's memory. */
import { Alert, Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { call } from '../../api/client.ts'
import type { ShownAdminToken } from '../../api/types.ts'
import { AccessFields, accessFields, newAccess, writeAccess } from '../../show/access-fields.tsx'
import { AgentSelect } from '../../show/agent-select.tsx'
import { CodeBlock } from '../../show/code-block.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'
import { ShownOnce } from '../../show/shown-once.tsx'

const lifetimes = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'One year' },
  { value: 'never', label: 'Never' },
]
const dayMs = 86_400_000

/** Mounted while it is open. */
export function CreateToken({ onClose }: { onClose: () => void }) {
  const [shown, setShown] = useState<{ name: string; token: string } | null>(null)
  const [name, setName] = useState('')
  const [access, setAccess] = useState(newAccess)
  const [agentId, setAgentId] = useState<string | null>(null)
  const [days, setDays] = useState('90')
  const queries = useQueryClient()
  // Without a result, because the query cache would keep the token.
  const create = useMutation({
    mutationFn: async (): Promise<void> => {
      const expiresAt = days === 'never' ? null : new Date(Date.now() + Number(days) * dayMs).toISOString()
      const body = { name: name.trim(), ...writeAccess(access), agent_id: agentId, expires_at: expiresAt }
      const made = await call<ShownAdminToken>('/tokens', { method: 'POST', body })
      setShown({ name: made.name, token: made.token })
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['tokens'] }),
  })
  if (shown !== null)
    return (
      <ShownOnce title={`Token ${shown.name}`} size="lg" stored="I have stored the token" onStored={onClose}>
        <Alert color="yellow" variant="light" title="Copy the token now">
          It is shown only once, because Turnkeep stores only a hash of it. Whoever has it may do what its role may do.
        </Alert>
        <CodeBlock text={shown.token} label="token" />
        <Text size="sm">
          Programs send it as <code>Authorization: Bearer</code>. The command line reads it from <code>TURNKEEP_ADMIN_TOKEN</code>.
        </Text>
      </ShownOnce>
    )
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (name.trim() !== '') create.mutate()
  }
  const refused = refusalOf(create.error, ['name', 'agent_id', 'expires_at', ...accessFields])
  return (
    <Modal opened onClose={onClose} title="Create token" size="lg">
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Name"
            description="The program that uses it. The audit log shows it."
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={100}
            autoComplete="off"
            required
            data-autofocus
            error={refused.at('name')}
          />
          <AccessFields value={access} onChange={setAccess} refused={refused} />
          <AgentSelect label="Only this agent" value={agentId} onChange={setAgentId} clearable error={refused.at('agent_id')} />
          <Select
            label="Expires"
            data={lifetimes}
            value={days}
            onChange={(value) => setDays(value ?? '90')}
            allowDeselect={false}
            maw={320}
            error={refused.at('expires_at')}
          />
          <FailureNote error={refused.rest} title="Could not create the token" />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={create.isPending}>
              Create token
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
