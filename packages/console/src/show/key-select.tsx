/** Selects one of an agent's API keys. Without an agent it explains that there is nothing to select. */
import { Select } from '@mantine/core'
import { useKeys } from '../api/lists.ts'
import { chooseAmong } from './choose-among.ts'

/** `isPlain`: in a row of filters, without a label above it. */
type KeySelectProps = { agentId: string | null; value: string | null; onChange: (id: string | null) => void; isPlain?: boolean }

export function KeySelect({ agentId, ...props }: KeySelectProps) {
  return agentId === null ? (
    <Choice placeholder="Choose an agent first" keys={[]} disabled {...props} />
  ) : (
    <KeysOf agentId={agentId} {...props} />
  )
}

function KeysOf({ agentId, ...props }: Omit<KeySelectProps, 'agentId'> & { agentId: string }) {
  const keys = useKeys(agentId)
  const named = keys.data?.map(({ id, key_id: keyId, name, revoked_at: revoked }) => ({
    id,
    name: `${name ?? keyId}${revoked ? ' (revoked)' : ''}`,
  }))
  return (
    <Choice
      placeholder={keys.isPending ? 'Loading API keys…' : 'All API keys'}
      keys={named}
      error={keys.error ? `Could not load API keys. ${keys.error.message}` : undefined}
      {...props}
    />
  )
}

type ChoiceProps = Omit<KeySelectProps, 'agentId'> & {
  placeholder: string
  keys: { id: string; name: string }[] | undefined
  disabled?: boolean
  error?: string | undefined
}

const Choice = ({ keys, value, onChange, isPlain = false, ...props }: ChoiceProps) => (
  <Select
    {...(isPlain ? { 'aria-label': 'API key' } : { label: 'API key' })}
    data={chooseAmong(keys, value)}
    value={value}
    onChange={(id) => onChange(id)}
    clearable
    clearButtonProps={{ 'aria-label': 'Clear API key', 'aria-hidden': false, tabIndex: 0 }}
    allowDeselect={false}
    searchable
    nothingFoundMessage="No matching API keys"
    w={{ base: '100%', sm: isPlain ? 170 : '100%' }}
    maw={{ base: '100%', sm: 320 }}
    {...props}
  />
)
