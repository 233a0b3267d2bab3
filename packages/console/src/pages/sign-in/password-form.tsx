/** Signs in with an email address and a password. A wrong one is selected, so that it can be replaced by typing. */
import { Button, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { FormEvent } from 'react'
import { call } from '../../api/client.ts'
import { useSignIn } from '../../api/session.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'

export function PasswordForm({ onTry }: { onTry: () => void }) {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const first = useRef<HTMLInputElement>(null)
  const second = useRef<HTMLInputElement>(null)
  const signIn = useSignIn(() => call('/session', { method: 'POST', body: { email: email.trim(), password } }))
  useEffect(() => first.current?.focus(), [])
  useEffect(() => {
    if (signIn.isError) second.current?.select()
  }, [signIn.isError])
  const refused = refusalOf(signIn.error, ['email', 'password'])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (email.trim() === '' || password === '') return
    onTry()
    signIn.mutate()
  }
  return (
    <Stack component="form" onSubmit={submit} gap="sm">
      <TextInput
        ref={first}
        type="email"
        label="Email"
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        autoComplete="username"
        error={refused.at('email')}
        required
        withAsterisk={false}
      />
      <PasswordInput
        ref={second}
        label="Password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="current-password"
        error={refused.at('password')}
        required
        withAsterisk={false}
        visibilityToggleButtonProps={{ 'aria-label': 'Show password' }}
      />
      <FailureNote error={refused.rest} title="Sign-in failed" />
      <Button type="submit" loading={signIn.isPending} mt={4}>
        Sign in
      </Button>
    </Stack>
  )
}
