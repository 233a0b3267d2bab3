/** The range and the filters. The selection is in the address, so that a view can be bookmarked and shared. */
import { Group, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useAgents } from '../../api/lists.ts'
import { AgentSelect } from '../../show/agent-select.tsx'
import { FilterFold } from '../../show/filter-fold.tsx'
import { OwnerSelect } from '../../show/owner-select.tsx'
import { RangeControl } from '../../show/range-control.tsx'
import { rangeLabels, rangeNames, suggestedDays } from '../../show/usage-range.ts'
import type { Asked, RangeName, SpanWrong } from '../../show/usage-range.ts'
import { useDraft } from '../../show/use-draft.ts'
import { KeySelect } from '../../show/key-select.tsx'

const choices = rangeNames.map((value) => ({ value, label: rangeLabels[value] }))

type FiltersProps = { asked: Asked; wrong: SpanWrong | null; onChange: (asked: Asked) => void }

export function Filters({ asked, wrong, onChange }: FiltersProps) {
  const agents = useAgents()
  const chooseRange = (range: RangeName): void => onChange({ ...asked, ...(range === 'own' ? suggestedDays(Date.now()) : {}), range })
  // Filters that depend on the previous owner or agent no longer apply.
  const chooseOwner = (ownerId: string | null): void => onChange({ ...asked, ownerId, agentId: null, keyId: null })
  const chooseAgent = (agentId: string | null): void => {
    const payer = agents.data?.find(({ id }) => id === agentId)?.owner_id
    onChange({ ...asked, agentId, keyId: null, ownerId: agentId !== null && payer !== asked.ownerId ? null : asked.ownerId })
  }
  const errorOf = (field: 'from' | 'to'): string | undefined => (wrong?.field === field ? wrong.wrong : undefined)
  return (
    <Stack gap="sm">
      <Group align="flex-end" gap="md">
        <RangeControl value={asked.range} choices={choices} onChange={chooseRange} />
        {asked.range === 'own'
          ? (['from', 'to'] as const).map((field) => (
              <TextInput
                key={field}
                type="date"
                label={field === 'from' ? 'Start date (UTC)' : 'End date (UTC)'}
                value={asked[field]}
                onChange={(event) => onChange({ ...asked, [field]: event.currentTarget.value })}
                error={errorOf(field)}
              />
            ))
          : null}
      </Group>
      <FilterFold count={[asked.ownerId, asked.agentId, asked.keyId, asked.externalUserId].filter((value) => value !== null).length}>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
          <OwnerSelect value={asked.ownerId} onChange={chooseOwner} clearable />
          <AgentSelect value={asked.agentId} onChange={chooseAgent} clearable />
          <KeySelect agentId={asked.agentId} value={asked.keyId} onChange={(keyId) => onChange({ ...asked, keyId })} />
          <UserFilter value={asked.externalUserId} onChange={(externalUserId) => onChange({ ...asked, externalUserId })} />
        </SimpleGrid>
      </FilterFold>
    </Stack>
  )
}

/** Used when it is left or Enter is pressed: each report scans turns. */
function UserFilter({ value, onChange }: { value: string | null; onChange: (value: string | null) => void }) {
  const [text, setText] = useDraft(value ?? '')
  const commit = (): void => {
    if (text !== (value ?? '')) onChange(text === '' ? null : text)
  }
  return (
    <TextInput
      label="End user"
      placeholder="All end users"
      value={text}
      maxLength={255}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === 'Enter') commit()
      }}
      maw={{ base: '100%', sm: 320 }}
    />
  )
}
