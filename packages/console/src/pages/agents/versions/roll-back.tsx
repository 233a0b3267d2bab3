/** Back to the content of an old version, which becomes a new one; asked about first, since turns run on it at once. */
import { Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, segment } from '../../../api/client.ts'
import type { Agent } from '../../../api/types.ts'
import { Confirm } from '../../../show/confirm.tsx'

type RollBackProps = { agent: Agent; version: number | null; onClose(): void; onDone(sentence: string): void }

export function RollBack({ agent, version, onClose, onDone }: RollBackProps) {
  const queries = useQueryClient()
  // What is asked about stays to be read while the question fades away.
  const [asked, setAsked] = useState(version)
  if (version !== null && version !== asked) setAsked(version)
  const back = useMutation({
    mutationFn: (to: number) => call<Agent>(`/agents/${segment(agent.id)}/rollback`, { method: 'POST', body: { version: to } }),
    onSuccess: (changed, to) => {
      queries.setQueryData(['agents', agent.id], changed)
      void queries.invalidateQueries({ queryKey: ['agents'] })
      onDone(
        changed.version === agent.version
          ? `Version ${changed.version} has the content of version ${to} already: nothing has changed.`
          : `Rolled back: version ${changed.version} has the content of version ${to}.`,
      )
    },
  })
  return (
    <Confirm
      opened={version !== null}
      title={`Roll back to version ${asked}?`}
      verb={`Roll back to version ${asked}`}
      pending={back.isPending}
      error={back.error}
      onConfirm={() => {
        if (version !== null) back.mutate(version)
      }}
      onClose={() => {
        back.reset()
        onClose()
      }}
    >
      <Text size="sm">
        A new version is made with everything as it was in version {asked}: prompt, model and its price of then, limits, tools with the
        header and secret values of then. New turns run on it at once; version {agent.version} stays and can be rolled back to. On or off
        stays as it is.
      </Text>
    </Confirm>
  )
}
