/** Selects an owner by name. The parent navigates or stores the ID. */
import { Select } from '@mantine/core'
import type { ReactNode } from 'react'
import { useOwners } from '../api/lists.ts'
import { chooseAmong } from './choose-among.ts'

type OwnerSelectProps = {
  value: string | null
  onChange(id: string | null): void
  label?: string
  description?: string
  clearable?: boolean
  /** Why the chosen one is refused. */
  error?: ReactNode
}

export function OwnerSelect({ value, onChange, label = 'Owner', description, clearable = false, error }: OwnerSelectProps) {
  const owners = useOwners()
  return (
    <Select
      label={label}
      description={description}
      placeholder={
        owners.isPending ? 'Loading owners…' : owners.data?.length === 0 ? 'No owners yet' : clearable ? 'All owners' : 'Choose an owner'
      }
      data={chooseAmong(owners.data, value)}
      value={value}
      onChange={(id) => onChange(id)}
      error={owners.error ? `Could not load owners. ${owners.error.message}` : error}
      clearable={clearable}
      clearButtonProps={{ 'aria-label': `Clear ${label}`, 'aria-hidden': false, tabIndex: 0 }}
      allowDeselect={false}
      searchable
      nothingFoundMessage="No matching owners"
      w="100%"
      maw={{ base: '100%', sm: 320 }}
    />
  )
}
