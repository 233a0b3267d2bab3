/** The filters besides the text: a row on a wide screen, and one below the other on a phone. */
import { Select, Text, TextInput } from '@mantine/core'
import { useAgents } from '../../api/lists.ts'
import { chooseAmong } from '../../show/choose-among.ts'
import { KeySelect } from '../../show/key-select.tsx'
import { ratings, states } from './filter-query.ts'
import type { Filters } from './filter-query.ts'

// The limit of the API: docs/spec.md, "Sending a message".
const maxId = 255

/** `draft`: what is typed and applies with Enter. Selections and days apply immediately. */
type FieldsProps = {
  filters: Filters
  draft: Filters
  onDraft: (changed: Partial<Filters>) => void
  onApply: (changed: Partial<Filters>) => void
}

export function FilterFields({ filters, draft, onDraft, onApply }: FieldsProps) {
  const agents = useAgents()
  const named = agents.data?.map(({ id, name, enabled }) => ({ id, name: enabled ? name : `${name} (disabled)` }))
  const width = (pixels: number) => ({ base: '100%', sm: pixels })
  const day = (name: 'from' | 'to', label: string) => (
    <TextInput
      type="date"
      size="sm"
      aria-label={label}
      title={label}
      leftSection={
        <Text span size="xs" aria-hidden="true">
          {name === 'from' ? 'From' : 'To'}
        </Text>
      }
      leftSectionWidth={name === 'from' ? 46 : 32}
      min="1970-01-02"
      max="9999-12-30"
      w={width(name === 'from' ? 176 : 162)}
      value={draft[name]}
      // A year that is being typed is a day, too: 0002.
      onChange={({ currentTarget: { value } }) => onDraft({ [name]: value })}
      onBlur={() => draft[name] === filters[name] || onApply({ [name]: draft[name] })}
    />
  )
  return (
    <>
      <Select
        size="sm"
        aria-label="Agent"
        placeholder="Agent"
        w={width(170)}
        data={chooseAmong(named, filters.agent_id || null)}
        value={filters.agent_id || null}
        onChange={(id) => onApply({ agent_id: id ?? '', key_id: '' })}
        searchable
        allowDeselect={false}
        nothingFoundMessage="No matching agents"
      />
      {filters.agent_id === '' && filters.key_id === '' ? null : (
        <KeySelect
          agentId={filters.agent_id || null}
          value={filters.key_id || null}
          onChange={(id) => onApply({ key_id: id ?? '' })}
          isPlain
        />
      )}
      <TextInput
        size="sm"
        aria-label="End user ID"
        placeholder="End user ID"
        title="The exact ID. Press Enter to apply."
        w={width(170)}
        maxLength={maxId}
        autoComplete="off"
        spellCheck={false}
        value={draft.external_user_id}
        onChange={({ currentTarget: { value } }) => onDraft({ external_user_id: value })}
      />
      <Select
        size="sm"
        aria-label="Status of a turn"
        placeholder="Status"
        w={width(120)}
        data={[...states]}
        value={filters.status || null}
        onChange={(value) => onApply({ status: states.find((state) => state.value === value)?.value ?? '' })}
      />
      <Select
        size="sm"
        aria-label="Feedback"
        placeholder="Feedback"
        w={width(120)}
        data={[...ratings]}
        value={filters.rating || null}
        onChange={(value) => onApply({ rating: ratings.find((rating) => rating.value === value)?.value ?? '' })}
      />
      {day('from', 'Started on or after')}
      {day('to', 'Started on or before')}
    </>
  )
}
