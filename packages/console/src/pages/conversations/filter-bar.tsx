/** The search field and the filters above the list. A selection applies immediately, text with Enter or the button. */
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { useMay } from '../../api/session.ts'
import { FilterFold } from '../../show/filter-fold.tsx'
import { FilterChips } from './filter-chips.tsx'
import { FilterFields } from './filter-fields.tsx'
import { isBackwards, noFilters, writeFilters } from './filter-query.ts'
import type { Filters } from './filter-query.ts'

type FilterBarProps = { filters: Filters; onChange: (filters: Filters) => void }

// The limit of the API.
const maxText = 200

export function FilterBar({ filters, onChange }: FilterBarProps) {
  const [draft, setDraft] = useState(filters)
  const [known, setKnown] = useState(filters)
  const mayRead = useMay('conversations')
  // The address has changed: by this page, a link or the back button.
  if (isOther(known, filters)) {
    setKnown(filters)
    setDraft(filters)
  }
  const apply = (changed: Partial<Filters>): void => onChange({ ...draft, q: draft.q.trim(), ...changed })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    apply({})
  }
  const submitButton = (
    <Button type="submit" variant={mayRead ? 'filled' : 'default'}>
      Search
    </Button>
  )
  const search = mayRead ? (
    <Group gap="xs" wrap="nowrap" flex={1} miw={0}>
      <TextInput
        flex={1}
        miw={0}
        aria-label="Search messages"
        placeholder="Search messages and replies"
        leftSection={<IconSearch size={16} stroke={1.6} aria-hidden="true" />}
        maxLength={maxText}
        autoComplete="off"
        value={draft.q}
        onChange={({ currentTarget: { value: q } }) => setDraft((before) => ({ ...before, q }))}
      />
      {submitButton}
    </Group>
  ) : null
  return (
    <search aria-label="Conversations">
      <form onSubmit={submit}>
        <Stack gap="xs">
          <FilterFold count={writeFilters({ ...filters, q: '' }).length} before={search}>
            <Group gap="xs">
              <FilterFields
                filters={filters}
                draft={draft}
                onDraft={(changed) => setDraft((before) => ({ ...before, ...changed }))}
                onApply={apply}
              />
              {mayRead ? null : submitButton}
            </Group>
          </FilterFold>
          {isBackwards(draft) ? (
            <Text size="sm" c="red" role="alert">
              The end date is before the start date.
            </Text>
          ) : null}
          <FilterChips filters={filters} onRemove={(name) => onChange({ ...filters, [name]: '' })} onClear={() => onChange(noFilters)} />
        </Stack>
      </form>
    </search>
  )
}

const isOther = (a: Filters, b: Filters): boolean => String(writeFilters(a)) !== String(writeFilters(b))
