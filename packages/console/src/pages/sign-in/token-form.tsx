/** Signs in with the admin token: for the first start and for recovery. */
import { Button, PasswordInput, Stack, Text } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { FormEvent } from 'react'
import { call } from '../../api/client.ts'
import { useSignIn } from '../../api/session.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'

export function TokenForm({ onTry }: { onTry: () => void }) {
  const [token, setToken] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const signIn = useSignIn(() => call('/session', { method: 'POST', body: { token: token.trim() } }))
  useEffect(() => input.current?.focus(), [])
  // A refused token is selected, so that it can be replaced by typing or pasting.
  useEffect(() => {
    if (signIn.isError) input.current?.select()
  }, [signIn.isError])
  const refused = refusalOf(signIn.error, ['token'])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (token.trim() === '') return
    onTry()
    signIn.mutate()
  }
  return (
    <Stack component="form" onSubmit={submit} gap="sm">
      <Text c="dimmed" size="sm">
        Find the admin token in the file <code>admin.token</code> in the data folder, or in the environment variable{' '}
        <code>TURNKEEP_ADMIN_TOKEN</code>.
      </Text>
      <PasswordInput
        ref={input}
        label="Admin token"
        value={token}
        onChange={(event) => setToken(event.currentTarget.value)}
        autoComplete="off"
        error={refused.at('token')}
        required
        withAsterisk={false}
        visibilityToggleButtonProps={{ 'aria-label': 'Show token' }}
      />
      <FailureNote error={refused.rest} title="Sign-in failed" />
      <Button type="submit" loading={signIn.isPending} mt={4}>
        Sign in
      </Button>
    </Stack>
  )
}
