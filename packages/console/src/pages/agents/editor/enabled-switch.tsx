/** Enables or disables an agent. Disabling asks first, because it affects callers immediately. Neither creates a version. */
import { Fieldset, Switch, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, segment } from '../../../api/client.ts'
import type { Agent } from '../../../api/types.ts'
import { Confirm } from '../../../show/confirm.tsx'
import { FailureNote } from '../../../show/failure-note.tsx'

export function EnabledSwitch({ agent }: { agent: Agent }) {
  const queries = useQueryClient()
  const [asking, setAsking] = useState(false)
  const turn = useMutation({
    meta: { done: 'Status changed' },
    mutationFn: (enabled: boolean) => call<Agent>(`/agents/${segment(agent.id)}`, { method: 'PATCH', body: { enabled } }),
    onSuccess: (changed) => {
      queries.setQueryData(['agents', agent.id], changed)
      void queries.invalidateQueries({ queryKey: ['agents'] })
      setAsking(false)
    },
  })
  return (
    <Fieldset legend="Status" mt="lg">
      <Switch
        label="Enabled"
        description="Takes effect immediately and does not create a version. A disabled agent rejects new messages with agent_disabled; running turns finish, and existing replies can still be replayed."
        checked={agent.enabled}
        disabled={turn.isPending}
        onChange={(event) => {
          turn.reset()
          if (event.currentTarget.checked) turn.mutate(true)
          else setAsking(true)
        }}
      />
      {asking ? null : <FailureNote error={turn.error} title="Could not change the status" />}
      <Confirm
        opened={asking}
        title="Disable agent?"
        verb="Disable agent"
        pending={turn.isPending}
        error={turn.error}
        onConfirm={() => turn.mutate(false)}
        onClose={() => setAsking(false)}
      >
        <Text size="sm">
          New messages to “{agent.name}” are rejected with 403 <code>agent_disabled</code>; nothing is stored or charged. Running turns
          finish and are charged. Existing replies can still be replayed with their Idempotency-Keys, and conversations can still be listed.
          You can enable the agent again at any time.
        </Text>
      </Confirm>
    </Fieldset>
  )
}
