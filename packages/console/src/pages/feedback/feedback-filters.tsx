/** The filters above the list. A selection applies immediately, the tag when the search is started. */
import { Button, Group, Select, SimpleGrid, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { AgentSelect } from '../../show/agent-select.tsx'
import { isFiltered, noFilters } from './filters.ts'
import type { Filters } from './filters.ts'

// The limit of the API: docs/spec.md, "Turns".
const maxTag = 64
const ratings = [
  { value: 'up', label: 'Up' },
  { value: 'down', label: 'Down' },
]

export function FeedbackFilters({ filters, onChange }: { filters: Filters; onChange: (filters: Filters) => void }) {
  const [tag, setTag] = useState(filters.tag)
  const [known, setKnown] = useState(filters.tag)
  // The address has changed: by this page, a link or the back button.
  if (known !== filters.tag) {
    setKnown(filters.tag)
    setTag(filters.tag)
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    onChange({ ...filters, tag })
  }
  return (
    <search aria-label="Feedback">
      <form onSubmit={submit}>
        <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} verticalSpacing="sm">
          <AgentSelect value={filters.agent_id || null} onChange={(id) => onChange({ ...filters, tag, agent_id: id ?? '' })} clearable />
          <Select
            label="Rating"
            placeholder="All ratings"
            data={ratings}
            value={filters.rating || null}
            onChange={(rating) => onChange({ ...filters, tag, rating: rating === 'up' || rating === 'down' ? rating : '' })}
            clearable
            clearButtonProps={{ 'aria-label': 'Clear rating', 'aria-hidden': false, tabIndex: 0 }}
            w="100%"
            maw={320}
          />
          <TextInput
            label="Tag"
            placeholder="Exact tag"
            maxLength={maxTag}
            autoComplete="off"
            spellCheck={false}
            value={tag}
            onChange={({ currentTarget }) => setTag(currentTarget.value)}
            maw={320}
          />
          <Group align="flex-end" gap="xs">
            <Button type="submit">Search</Button>
            {isFiltered(filters) || tag !== '' ? (
              <Button
                variant="default"
                onClick={() => {
                  setTag('')
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
