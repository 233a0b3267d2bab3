/** What an operator or a token may do: the role, an additional permission, and a restriction to one owner. */
import { Checkbox, Radio, Stack } from '@mantine/core'
import type { Role } from '../api/types.ts'
import { OwnerSelect } from './owner-select.tsx'
import type { Refusal } from './refusal.ts'
import { roleChoices, roleTexts } from './role-names.ts'

export type Access = { role: Role; permissions: 'conversations'[]; owner_id: string | null }

/** The role with the fewest permissions, so that more of them are a decision. */
export const newAccess: Access = { role: 'viewer', permissions: [], owner_id: null }

/** A role that has the permission already sends none in addition. */
export const writeAccess = ({ role, permissions, owner_id }: Access): Access => ({
  role,
  permissions: needsConversations(role) ? permissions : [],
  owner_id,
})

const needsConversations = (role: Role): boolean => role === 'billing' || role === 'viewer'

export const accessFields = ['role', 'permissions', 'owner_id'] as const

type AccessFieldsProps = { value: Access; onChange: (value: Access) => void; refused: Pick<Refusal<keyof Access>, 'at'> }

export function AccessFields({ value, onChange, refused }: AccessFieldsProps) {
  return (
    <Stack>
      <Radio.Group
        label="Role"
        value={value.role}
        onChange={(role) => onChange({ ...value, role: role as Role })}
        error={refused.at('role')}
      >
        <Stack gap="xs" mt={4}>
          {roleChoices.map(({ value: role, label }) => (
            <Radio key={role} value={role} label={label} description={roleTexts[role]} />
          ))}
        </Stack>
      </Radio.Group>
      {needsConversations(value.role) ? (
        <Checkbox
          label="May read messages"
          description="In addition to the role: what end users wrote, traces and feedback. Every reading is in the audit log."
          checked={value.permissions.includes('conversations')}
          error={refused.at('permissions')}
          onChange={(event) => onChange({ ...value, permissions: event.currentTarget.checked ? ['conversations'] : [] })}
        />
      ) : null}
      <OwnerSelect
        label="Access to"
        description="One owner limits the role to that owner’s agents, conversations and money."
        value={value.owner_id}
        error={refused.at('owner_id')}
        onChange={(id) => onChange({ ...value, owner_id: id })}
        clearable
      />
    </Stack>
  )
}
