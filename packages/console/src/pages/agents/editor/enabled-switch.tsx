/** On and off. Off is asked about first, since callers notice it at once; neither makes a version. */
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
    mutationFn: (enabled: boolean) => call<Agent>(`/agents/${segment(agent.id)}`, { method: 'PATCH', body: { enabled } }),
    onSuccess: (changed) => {
      queries.setQueryData(['agents', agent.id], changed)
      void queries.invalidateQueries({ queryKey: ['agents'] })
      setAsking(false)
    },
  })
  return (
    <Fieldset legend="On or off" mt="lg">
      <Switch
        label="The agent takes new turns"
        description="Saved at once, and not a version. Off: new messages are refused with agent_disabled; turns that run finish, answered ones are still replayed."
        checked={agent.enabled}
        disabled={turn.isPending}
        onChange={(event) => {
          turn.reset()
          if (event.currentTarget.checked) turn.mutate(true)
          else setAsking(true)
        }}
      />
      {asking ? null : <FailureNote error={turn.error} title="Not switched" />}
      <Confirm
        opened={asking}
        title="Switch the agent off?"
        verb="Switch the agent off"
        pending={turn.isPending}
        error={turn.error}
        onConfirm={() => turn.mutate(false)}
        onClose={() => setAsking(false)}
      >
        <Text size="sm">
          From now on callers of “{agent.name}” are answered 403 <code>agent_disabled</code>, and nothing is stored or charged. Turns that
          run finish and are charged. Messages that were answered before are still replayed with their Idempotency-Keys, and conversations
          can be listed. It can be switched on again at any time.
        </Text>
      </Confirm>
    </Fieldset>
  )
}
