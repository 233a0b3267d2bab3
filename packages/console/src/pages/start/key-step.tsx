/** Step 3: an API key for the agent. Its secret is only shown here and only kept in memory. */
import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { FormEvent } from 'react'
import { call, segment } from '../../api/client.ts'
import type { Agent, ShownKey } from '../../api/types.ts'
import { CodeBlock } from '../../show/code-block.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'

type KeyStepProps = {
  agent: Agent
  /** The number of its keys that are not revoked. */
  live: number
  secret: string | null
  onKey: (key: ShownKey) => void
  onDone: () => void
}

export function KeyStep({ agent, live, secret, onKey, onDone }: KeyStepProps) {
  const queries = useQueryClient()
  const [name, setName] = useState('First key')
  const create = useMutation({
    // Reset when it is done, so that no cache keeps the secret.
    gcTime: 0,
    mutationFn: () =>
      call<ShownKey>(`/agents/${segment(agent.id)}/keys`, {
        method: 'POST',
        body: { ...(name.trim() === '' ? {} : { name: name.trim() }), permission: 'full' },
      }),
    onSuccess: (key) => {
      onKey(key)
      create.reset()
      void queries.invalidateQueries({ queryKey: ['keys'] })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    create.mutate()
  }
  const refused = refusalOf(create.error, ['name'])
  if (secret !== null) return <Secret secret={secret} onDone={onDone} />
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text>
          Your program calls {agent.name} with an API key. The key can send messages to this agent only.
          {live > 0
            ? ' The agent already has an API key, but an existing key cannot be shown again. Continue with the key you have, or create another.'
            : ''}
        </Text>
        <TextInput
          label="Key name"
          description="Who uses the key, such as “Web shop”."
          autoComplete="off"
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={refused.at('name')}
        />
        <FailureNote error={refused.rest} title="Could not create the API key" />
        <Group>
          <Button type="submit" loading={create.isPending}>
            Create API key
          </Button>
          <Button variant="default" onClick={onDone}>
            {live > 0 ? 'Continue with existing key' : 'Skip to first message'}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Gets the focus when it appears, because the button that created it is gone. */
function Secret({ secret, onDone }: { secret: string; onDone: () => void }) {
  const note = useRef<HTMLDivElement>(null)
  useEffect(() => note.current?.focus(), [])
  return (
    <Stack>
      <Alert color="yellow" title="Copy the API key now" ref={note} tabIndex={-1} style={{ outline: 'none' }}>
        It is shown only once, because the server stores only a hash of it. Store it with your program’s secrets, never in a browser.
      </Alert>
      <CodeBlock text={secret} label="API key" />
      <div>
        <Button onClick={onDone}>Continue to first message</Button>
      </div>
    </Stack>
  )
}
