/** The search field and the filters above the list. A selection applies immediately, text with Enter or the button. */
import { Button, Group, Popover, Stack, Text, TextInput } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconAdjustmentsHorizontal, IconSearch } from '@tabler/icons-react'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { useMay } from '../../api/session.ts'
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
  const isPhone = useMediaQuery('(max-width: 47.99em)', undefined, { getInitialValueInEffect: false })
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
  const fields = (isStacked: boolean) => (
    <FilterFields
      filters={filters}
      draft={draft}
      onDraft={(changed) => setDraft((before) => ({ ...before, ...changed }))}
      onApply={apply}
      isStacked={isStacked}
    />
  )
  const search = mayRead ? (
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
  ) : null
  const submitButton = (
    <Button type="submit" variant={mayRead ? 'filled' : 'default'}>
      Search
    </Button>
  )
  return (
    <search aria-label="Conversations">
      <form onSubmit={submit}>
        <Stack gap="xs">
          <Group gap="xs" wrap="nowrap">
            {search}
            {mayRead ? submitButton : null}
            {isPhone ? <PhoneFilters count={writeFilters({ ...filters, q: '' }).length}>{fields(true)}</PhoneFilters> : null}
          </Group>
          {isPhone ? null : (
            <Group gap="xs">
              {fields(false)}
              {mayRead ? null : submitButton}
            </Group>
          )}
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

function PhoneFilters({ count, children }: { count: number; children: React.ReactNode }) {
  return (
    <Popover position="bottom-end" width={300} withinPortal={false} trapFocus>
      <Popover.Target>
        <Button
          variant="default"
          px="sm"
          aria-label={count === 0 ? 'Filters' : `Filters, ${count} active`}
          leftSection={<IconAdjustmentsHorizontal size={16} stroke={1.6} aria-hidden="true" />}
        >
          {count === 0 ? 'Filters' : count}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs">
          {children}
          <Button type="submit" variant="default">
            Apply
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}

const isOther = (a: Filters, b: Filters): boolean => String(writeFilters(a)) !== String(writeFilters(b))
