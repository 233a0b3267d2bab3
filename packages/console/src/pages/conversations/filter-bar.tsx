/** The filters above the list. A selection applies immediately, text applies when the search is started. */
import { Button, Group, SimpleGrid, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { AgentSelect } from '../../show/agent-select.tsx'
import { KeySelect } from '../../show/key-select.tsx'
import { isBackwards, isFiltered, noFilters, writeFilters } from './filter-query.ts'
import type { Filters } from './filter-query.ts'

type FilterBarProps = { filters: Filters; onChange: (filters: Filters) => void }

// The limit of the API: docs/spec.md, "Sending a message".
const maxId = 255

export function FilterBar({ filters, onChange }: FilterBarProps) {
  const [draft, setDraft] = useState(filters)
  const [known, setKnown] = useState(filters)
  // The address has changed: by this page, a link or the back button.
  if (isOther(known, filters)) {
    setKnown(filters)
    setDraft(filters)
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    onChange(draft)
  }
  const field = (name: 'external_user_id' | 'from' | 'to') => ({
    value: draft[name],
    onChange: ({ currentTarget: { value } }: { currentTarget: HTMLInputElement }) => setDraft((before) => ({ ...before, [name]: value })),
    maw: 320,
  })
  return (
    <search aria-label="Conversations">
      <form onSubmit={submit}>
        <SimpleGrid cols={{ base: 1, xs: 2, lg: 3 }} verticalSpacing="sm">
          <AgentSelect
            value={filters.agent_id || null}
            onChange={(id) => onChange({ ...draft, agent_id: id ?? '', key_id: '' })}
            clearable
          />
          <KeySelect
            agentId={filters.agent_id || null}
            value={filters.key_id || null}
            onChange={(id) => onChange({ ...draft, key_id: id ?? '' })}
          />
          <TextInput
            label="External user ID"
            placeholder="Exact ID"
            maxLength={maxId}
            autoComplete="off"
            spellCheck={false}
            {...field('external_user_id')}
          />
          <TextInput type="date" label="Started on or after" min="1970-01-02" max="9999-12-30" {...field('from')} />
          <TextInput
            type="date"
            label="Started on or before"
            min="1970-01-02"
            max="9999-12-30"
            error={isBackwards(draft) ? 'The end date is before the start date.' : undefined}
            {...field('to')}
          />
          <Group align="flex-end" gap="xs">
            <Button type="submit">Search</Button>
            {isFiltered(filters) || isFiltered(draft) ? (
              <Button
                variant="default"
                onClick={() => {
                  setDraft(noFilters)
                  onChange(noFilters)
                }}
              >
                Clear filters
              </Button>
            ) : null}
          </Group>
        </SimpleGrid>
      </form>
    </search>
  )
}

const isOther = (a: Filters, b: Filters): boolean => String(writeFilters(a)) !== String(writeFilters(b))
