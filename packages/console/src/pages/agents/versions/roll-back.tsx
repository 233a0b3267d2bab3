/** Restores the content of an old version as a new one. Asks first, because new turns use it immediately. */
import { Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, segment } from '../../../api/client.ts'
import type { Agent } from '../../../api/types.ts'
import { Confirm } from '../../../show/confirm.tsx'

type RollBackProps = { agent: Agent; version: number | null; onClose(): void; onDone(sentence: string): void }

export function RollBack({ agent, version, onClose, onDone }: RollBackProps) {
  const queries = useQueryClient()
  // Keeps its text while the dialog closes.
  const [asked, setAsked] = useState(version)
  if (version !== null && version !== asked) setAsked(version)
  const back = useMutation({
    meta: { done: 'Rolled back' },
    mutationFn: (to: number) => call<Agent>(`/agents/${segment(agent.id)}/rollback`, { method: 'POST', body: { version: to } }),
    onSuccess: (changed, to) => {
      queries.setQueryData(['agents', agent.id], changed)
      void queries.invalidateQueries({ queryKey: ['agents'] })
      onDone(
        changed.version === agent.version
          ? `No changes: version ${changed.version} already has the settings of version ${to}.`
          : `Rolled back to version ${to}. Saved as version ${changed.version}.`,
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
        This creates a new version with the settings of version {asked}: system prompt, model, price, limits, and tools with the header and
        secret values of that version. New turns use it immediately. You can roll back to version {agent.version} later. Rolling back does
        not enable or disable the agent.
      </Text>
    </Confirm>
  )
}
