/**
 * Enables or disables an agent. Disabling asks first, because it affects callers immediately. Neither creates a version, and either can be
 * undone.
 */
import { Switch, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, segment } from '../../api/client.ts'
import type { Agent } from '../../api/types.ts'
import { Confirm } from '../../show/confirm.tsx'
import { useToast } from '../../show/toasts.tsx'

export function EnabledSwitch({ agent }: { agent: Agent }) {
  const queries = useQueryClient()
  const toast = useToast()
  const [asking, setAsking] = useState(false)
  const turn = useMutation({
    mutationFn: (enabled: boolean) => call<Agent>(`/agents/${segment(agent.id)}`, { method: 'PATCH', body: { enabled } }),
    onSuccess: (changed, enabled) => {
      queries.setQueryData(['agents', agent.id], changed)
      void queries.invalidateQueries({ queryKey: ['agents'] })
      setAsking(false)
      toast(enabled ? 'Agent enabled' : 'Agent disabled', () => turn.mutate(!enabled))
    },
    // The dialog shows the failure, also that of enabling.
    onError: () => setAsking(true),
  })
  return (
    <>
      <Switch
        label="Enabled"
        checked={agent.enabled}
        disabled={turn.isPending}
        onChange={(event) => {
          turn.reset()
          if (event.currentTarget.checked) turn.mutate(true)
          else setAsking(true)
        }}
      />
      <Confirm
        opened={asking}
        title={agent.enabled ? 'Disable agent?' : 'Enable agent?'}
        verb={agent.enabled ? 'Disable agent' : 'Enable agent'}
        pending={turn.isPending}
        error={turn.error}
        onConfirm={() => turn.mutate(!agent.enabled)}
        onClose={() => setAsking(false)}
      >
        <Text size="sm">
          {agent.enabled ? (
            <>
              New messages to “{agent.name}” are rejected with 403 <code>agent_disabled</code>; nothing is stored or charged. Running turns
              finish and are charged. Existing replies can still be replayed with their Idempotency-Keys, and conversations can still be
              listed. You can enable the agent again at any time.
            </>
          ) : (
            <>“{agent.name}” accepts new messages again.</>
          )}
        </Text>
      </Confirm>
    </>
  )
}
