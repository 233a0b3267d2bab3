/** Sets or changes the own password, which signs out all other browsers. */
import { Button, Fieldset, PasswordInput, Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { call } from '../../api/client.ts'
import { useRefreshMe } from '../../api/session.ts'
import type { Me } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'

export function Password({ me }: { me: Me }) {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const queries = useQueryClient()
  const refresh = useRefreshMe()
  const save = useMutation({
    // A wrong current password is 401, and says nothing about the session.
    meta: { done: 'Password saved. All other browsers are signed out.', signsIn: true },
    mutationFn: async () => {
      const body = { new_password: next, ...(current === '' ? {} : { current_password: current }) }
      await call<void>('/me/password', { method: 'PUT', body })
      await refresh()
    },
    onSuccess: () => {
      setCurrent('')
      setNext('')
      void queries.invalidateQueries({ queryKey: ['me', 'sessions'] })
    },
  })
  const refused = refusalOf(save.error, me.has_password ? ['current_password', 'new_password'] : ['new_password'])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (next !== '') save.mutate()
  }
  return (
    <Fieldset legend="Password">
      <Stack component="form" onSubmit={submit} gap="sm" maw={400}>
        <input type="text" name="username" autoComplete="username" value={me.email ?? ''} readOnly hidden />
        {me.has_password ? (
          <PasswordInput
            label="Current password"
            description="Empty, if you signed in within the last 15 minutes."
            value={current}
            onChange={(event) => setCurrent(event.currentTarget.value)}
            autoComplete="current-password"
            error={refused.at('current_password')}
            visibilityToggleButtonProps={{ 'aria-label': 'Show current password' }}
          />
        ) : null}
        <PasswordInput
          label="New password"
          description="At least 12 characters. All other browsers are signed out."
          value={next}
          onChange={(event) => setNext(event.currentTarget.value)}
          autoComplete="new-password"
          error={refused.at('new_password')}
          visibilityToggleButtonProps={{ 'aria-label': 'Show new password' }}
        />
        <FailureNote error={refused.rest} title="Could not save the password" />
        <div>
          <Button type="submit" variant="default" disabled={next === ''} loading={save.isPending}>
            {me.has_password ? 'Change password' : 'Set password'}
          </Button>
        </div>
      </Stack>
    </Fieldset>
  )
}
