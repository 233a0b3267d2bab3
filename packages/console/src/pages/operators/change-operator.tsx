/** Changes the name and the access of an operator. A change of access signs the operator out. */
import { Button, Fieldset, Group, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { call, segment } from '../../api/client.ts'
import type { Operator } from '../../api/types.ts'
import { AccessFields, accessFields, writeAccess } from '../../show/access-fields.tsx'
import type { Access } from '../../show/access-fields.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'

export function ChangeOperator({ operator }: { operator: Operator }) {
  const { id, role, permissions, owner_id } = operator
  const before: Access = { role, permissions, owner_id }
  const [name, setName] = useState(operator.name)
  const [access, setAccess] = useState(before)
  const queries = useQueryClient()
  const save = useMutation({
    meta: { done: 'Operator saved' },
    mutationFn: () => call<Operator>(`/operators/${segment(id)}`, { method: 'PATCH', body: { name: name.trim(), ...writeAccess(access) } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['operators'] }),
  })
  const isSame = name.trim() === operator.name && JSON.stringify(writeAccess(access)) === JSON.stringify(writeAccess(before))
  const refused = refusalOf(save.error, ['name', ...accessFields])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (!isSame && name.trim() !== '') save.mutate()
  }
  return (
    <Fieldset legend="Access">
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Name"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={100}
            required
            maw={400}
            error={refused.at('name')}
          />
          <AccessFields value={access} onChange={setAccess} refused={refused} />
          <FailureNote error={refused.rest} title="Could not save the operator" />
          <Group>
            <Button type="submit" disabled={isSame} loading={save.isPending}>
              Save changes
            </Button>
          </Group>
        </Stack>
      </form>
    </Fieldset>
  )
}
