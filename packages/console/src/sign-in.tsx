/** The sign-in page. The token is sent to the server once and stored nowhere; what stays is a cookie that scripts cannot read. */
import { Button, Center, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { FormEvent } from 'react'
import { useSignIn } from './api/session.ts'
import { FailureNote } from './show/failure-note.tsx'

/** `after`: how the previous session ended. The address has not changed, so the same page is shown afterwards. */
type SignInProps = { after: 'ended' | 'signed out' | null; onTry: () => void }

export function SignIn({ after, onTry }: SignInProps) {
  const [notice] = useState(after)
  const [token, setToken] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const signIn = useSignIn()
  useEffect(() => {
    document.title = 'Sign in · Turnkeep'
    input.current?.focus()
  }, [])
  // A refused token is selected, so that it can be replaced by typing or pasting.
  useEffect(() => {
    if (signIn.isError) input.current?.select()
  }, [signIn.isError])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (token.trim() === '') return
    onTry()
    signIn.mutate(() => token.trim())
  }
  return (
    <Center mih="100dvh" p="md" component="main">
      <Paper withBorder p="xl" w="100%" maw={440} component="form" onSubmit={submit}>
        <Stack>
          <div>
            <Title order={1} size="h3">
              Turnkeep
            </Title>
            <Text role="status" size="sm" fw={500} my={4}>
              {notice === 'ended' ? 'Your session has ended. Sign in to continue where you left off.' : null}
              {notice === 'signed out' ? 'You are signed out.' : null}
            </Text>
            <Text c="dimmed" size="sm">
              Sign in with the admin token. Find it in the file <code>admin.token</code> in the data folder, or in the environment variable{' '}
              <code>TURNKEEP_ADMIN_TOKEN</code>.
            </Text>
          </div>
          <PasswordInput
            ref={input}
            label="Admin token"
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
            autoComplete="current-password"
            required
            visibilityToggleButtonProps={{ 'aria-label': 'Show token' }}
          />
          <FailureNote error={signIn.error} title="Sign-in failed" />
          <Button type="submit" loading={signIn.isPending}>
            Sign in
          </Button>
        </Stack>
      </Paper>
    </Center>
  )
}
