/** The filters above the list, in a row. A selection applies immediately, the tag with Enter or the button. */
import { Button, Group, Select, TextInput } from '@mantine/core'
import type { FormEvent } from 'react'
import { useAgents } from '../../api/lists.ts'
import { chooseAmong } from '../../show/choose-among.ts'
import { FilterFold } from '../../show/filter-fold.tsx'
import { useDraft } from '../../show/use-draft.ts'
import { isFiltered, noFilters, writeFilters } from './filters.ts'
import type { Filters } from './filters.ts'

// The limit of the API: docs/spec.md, "Turns".
const maxTag = 64
const ratings = [
  { value: 'up', label: 'Up' },
  { value: 'down', label: 'Down' },
]

export function FeedbackFilters({ filters, onChange }: { filters: Filters; onChange: (filters: Filters) => void }) {
  const agents = useAgents()
  const [tag, setTag] = useDraft(filters.tag)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    onChange({ ...filters, tag })
  }
  return (
    <FilterFold count={writeFilters(filters).length}>
      <search aria-label="Feedback">
        <form onSubmit={submit}>
          <Group gap="xs">
            <Select
              size="sm"
              aria-label="Agent"
              placeholder="Agent"
              w={{ base: '100%', xs: 190 }}
              data={chooseAmong(agents.data, filters.agent_id || null)}
              value={filters.agent_id || null}
              onChange={(id) => onChange({ ...filters, tag, agent_id: id ?? '' })}
              searchable
              clearable
              clearButtonProps={{ 'aria-label': 'Clear agent', 'aria-hidden': false, tabIndex: 0 }}
              nothingFoundMessage="No matching agents"
            />
            <Select
              size="sm"
              aria-label="Rating"
              placeholder="Rating"
              w={{ base: '100%', xs: 130 }}
              data={ratings}
              value={filters.rating || null}
              onChange={(rating) => onChange({ ...filters, tag, rating: rating === 'up' || rating === 'down' ? rating : '' })}
              clearable
              clearButtonProps={{ 'aria-label': 'Clear rating', 'aria-hidden': false, tabIndex: 0 }}
            />
            <TextInput
              size="sm"
              aria-label="Tag"
              placeholder="Exact tag"
              w={{ base: '100%', xs: 170 }}
              maxLength={maxTag}
              autoComplete="off"
              spellCheck={false}
              value={tag}
              onChange={({ currentTarget }) => setTag(currentTarget.value)}
            />
            <Button size="sm" type="submit" variant="default">
              Search
            </Button>
            {isFiltered(filters) || tag !== '' ? (
              <Button
                size="sm"
                variant="subtle"
                color="gray"
                onClick={() => {
                  setTag('')
                  onChange(noFilters)
                }}
              >
                Clear filters
              </Button>
            ) : null}
          </Group>
        </form>
      </search>
    </FilterFold>
  )
}
