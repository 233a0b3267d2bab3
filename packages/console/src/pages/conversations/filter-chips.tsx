/** What the list is filtered by: each filter with a button that removes it. */
import { Button, Group, Pill } from '@mantine/core'
import { useAgents } from '../../api/lists.ts'
import { ratings, states, writeFilters } from './filter-query.ts'
import type { Filters } from './filter-query.ts'

type ChipsProps = { filters: Filters; onRemove: (name: keyof Filters) => void; onClear: () => void }

export function FilterChips({ filters, onRemove, onClear }: ChipsProps) {
  const agents = useAgents()
  const given = writeFilters(filters)
  if (given.length === 0) return null
  const shown: Record<keyof Filters, [string, (value: string) => string]> = {
    q: ['Text', (value) => `“${value}”`],
    agent_id: ['Agent', (value) => agents.data?.find(({ id }) => id === value)?.name ?? value],
    key_id: ['API key', (value) => value],
    external_user_id: ['End user', (value) => value],
    status: ['Status', (value) => states.find((state) => state.value === value)?.label ?? value],
    rating: ['Feedback', (value) => ratings.find((rating) => rating.value === value)?.label ?? value],
    from: ['Started on or after', (value) => value],
    to: ['Started on or before', (value) => value],
  }
  return (
    <Group gap="xs" role="group" aria-label="Active filters">
      {given.map(([name, value]) => {
        const [label, write] = shown[name]
        return (
          <Pill
            key={name}
            size="sm"
            withRemoveButton
            className="filter-chip"
            onRemove={() => onRemove(name)}
            removeButtonProps={{ 'aria-label': `Remove filter ${label}`, 'aria-hidden': false, tabIndex: 0 }}
          >
            {label}: <b>{write(value)}</b>
          </Pill>
        )
      })}
      <Button size="compact-xs" variant="subtle" color="gray" onClick={onClear}>
        Clear filters
      </Button>
    </Group>
  )
}
