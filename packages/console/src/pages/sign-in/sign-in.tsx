/**
 * The sign-in page: email and password, a passkey, the company account, and quietly the admin token. Secrets are sent once and stored nowhere;
 * what stays is a cookie that scripts cannot read.
 */
import { Alert, Anchor, Button, Divider, Stack, Text } from '@mantine/core'
import { IconBuilding, IconFingerprint } from '@tabler/icons-react'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { signInWithPasskey } from '../../api/passkeys.ts'
import { useSignIn } from '../../api/session.ts'
import { useSignInOptions } from '../../api/sign-in-options.ts'
import type { SignInOptions } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { Frame } from './frame.tsx'
import { PasswordForm } from './password-form.tsx'
import { refusalOf } from './refusals.ts'
import { TokenForm } from './token-form.tsx'

/** `after`: how the previous session ended. The address has not changed, so the same page is shown afterwards. */
type SignInProps = { after: 'ended' | 'signed out' | null; onTry: () => void }

const icon = { size: 18, stroke: 1.6, 'aria-hidden': true } as const
const notices = { ended: 'Your session has ended. Sign in to continue where you left off.', 'signed out': 'You are signed out.' }

export function SignIn({ after, onTry }: SignInProps) {
  const [notice] = useState(after)
  const [withToken, setWithToken] = useState(false)
  const [search] = useSearchParams()
  const options = useSignInOptions()
  const refusal = refusalOf(search.get('error'))
  return (
    <Frame title="Sign in to Turnkeep" notice={notice === null ? null : notices[notice]}>
      {refusal === null ? null : (
        <Alert color="red" role="alert" title="Sign-in failed">
          {refusal}
        </Alert>
      )}
      {withToken ? <TokenForm onTry={onTry} /> : <PasswordForm onTry={onTry} />}
      {withToken ? null : <OtherWays options={options} onTry={onTry} />}
      {options.admin_token ? (
        <Text size="sm" ta="center">
          <Anchor component="button" type="button" inherit onClick={() => setWithToken(!withToken)}>
            {withToken ? 'Sign in with an account' : 'Use the admin token'}
          </Anchor>
        </Text>
      ) : null}
    </Frame>
  )
}

function OtherWays({ options: { passkey, oidc }, onTry }: { options: SignInOptions; onTry: () => void }) {
  const signIn = useSignIn(signInWithPasskey)
  if (!passkey && oidc === null) return null
  return (
    <Stack gap="xs">
      <Divider label="or" my={4} />
      {passkey ? (
        <Button
          variant="default"
          leftSection={<IconFingerprint {...icon} />}
          loading={signIn.isPending}
          onClick={() => {
            onTry()
            signIn.mutate()
          }}
        >
          Sign in with a passkey
        </Button>
      ) : null}
      {oidc === null ? null : (
        <Button component="a" href="/admin/v1/session/oidc" variant="default" leftSection={<IconBuilding {...icon} />} onClick={onTry}>
          Sign in with {oidc.name}
        </Button>
      )}
      <FailureNote error={signIn.error} title="Sign-in failed" />
    </Stack>
  )
}
