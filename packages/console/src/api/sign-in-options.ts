/** The ways to sign in that the server offers at this address. */
import { useQuery } from '@tanstack/react-query'
import { call } from './client.ts'
import type { SignInOptions } from './types.ts'

/** What there is while the server has not answered, and if it does not. */
const usual: SignInOptions = { password: true, passkey: false, oidc: null, admin_token: true }

export function useSignInOptions(): SignInOptions {
  const { data } = useQuery({
    queryKey: ['session', 'options'],
    queryFn: ({ signal }) => call<SignInOptions>('/session/options', { signal }),
  })
  return data ?? usual
}
