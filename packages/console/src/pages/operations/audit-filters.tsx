/** The filters of the audit log. They are in the address, so that a view can be bookmarked and shared. */
import { Select, SimpleGrid, TextInput } from '@mantine/core'
import { authors } from '../../show/author-of.ts'
import { FilterFold } from '../../show/filter-fold.tsx'
import { useDraft } from '../../show/use-draft.ts'
import { authorNames } from './audit-asked.ts'
import type { Asked } from './audit-asked.ts'

type FiltersProps = { asked: Asked; onChange: (asked: Asked) => void }

const texts = [
  { field: 'verb', label: 'Action', placeholder: 'Any, such as change' },
  { field: 'noun', label: 'Object type', placeholder: 'Any, such as agent' },
  { field: 'subjectId', label: 'Object ID', placeholder: 'Any' },
  { field: 'authorId', label: 'Author ID', placeholder: 'Any' },
] as const
const days = [
  { field: 'from', label: 'Start date (UTC)' },
  { field: 'to', label: 'End date (UTC)' },
] as const

export function AuditFilters({ asked, onChange }: FiltersProps) {
  return (
    <FilterFold count={Object.values(asked).filter((value) => value !== '').length}>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
        <Select
          label="Author"
          placeholder="Everyone"
          data={authorNames.map((value) => ({ value, label: authors[value] }))}
          value={asked.who === '' ? null : asked.who}
          onChange={(who) => onChange({ ...asked, who: who ?? '' })}
          clearable
          clearButtonProps={{ 'aria-label': 'Clear author', 'aria-hidden': false, tabIndex: 0 }}
        />
        {texts.map(({ field, label, placeholder }) => (
          <TextFilter
            key={field}
            label={label}
            placeholder={placeholder}
            value={asked[field]}
            onChange={(value) => onChange({ ...asked, [field]: value })}
          />
        ))}
        {days.map(({ field, label }) => (
          <TextInput
            key={field}
            type="date"
            label={label}
            value={asked[field]}
            onChange={(event) => onChange({ ...asked, [field]: event.currentTarget.value })}
          />
        ))}
      </SimpleGrid>
    </FilterFold>
  )
}

type TextFilterProps = { label: string; placeholder: string; value: string; onChange: (value: string) => void }

/** Applies when it is left, or with Enter: not for each letter. */
function TextFilter({ label, placeholder, value, onChange }: TextFilterProps) {
  const [text, setText] = useDraft(value)
  const apply = (): void => {
    if (text.trim() !== value) onChange(text.trim())
  }
  return (
    <TextInput
      label={label}
      placeholder={placeholder}
      maxLength={100}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={apply}
      onKeyDown={(event) => {
        if (event.key === 'Enter') apply()
      }}
    />
  )
}
