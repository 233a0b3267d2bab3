/** Selects an agent by name. The parent navigates or stores the ID. */
import { Select } from '@mantine/core'
import type { ReactNode } from 'react'
import { useAgents } from '../api/lists.ts'
import { chooseAmong } from './choose-among.ts'

type AgentSelectProps = {
  value: string | null
  onChange(id: string | null): void
  label?: string
  clearable?: boolean
  compact?: boolean
  /** Why the chosen one is refused. */
  error?: ReactNode
}

export function AgentSelect({ value, onChange, label = 'Agent', clearable = false, compact = false, error }: AgentSelectProps) {
  const agents = useAgents()
  const named = agents.data?.map(({ id, name, enabled }) => ({ id, name: enabled ? name : `${name} (disabled)` }))
  return (
    <Select
      {...(compact ? { 'aria-label': label } : { label })}
      placeholder={
        agents.isPending ? 'Loading agents…' : agents.data?.length === 0 ? 'No agents yet' : clearable ? 'All agents' : 'Choose an agent'
      }
      data={chooseAmong(named, value)}
      value={value}
      onChange={(id) => onChange(id)}
      error={agents.error ? `Could not load agents. ${agents.error.message}` : error}
      clearable={clearable}
      clearButtonProps={{ 'aria-label': `Clear ${label}`, 'aria-hidden': false, tabIndex: 0 }}
      allowDeselect={false}
      searchable
      nothingFoundMessage="No matching agents"
      w="100%"
      maw={compact ? 180 : 320}
    />
  )
}
