/** The session and the queries of the page. A session that is not valid leads to the sign-in, with any request. */
import { MutationCache, QueryCache, QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ApiFailure, call } from './client.ts'
import type { Session } from './types.ts'

const sessionKey = ['session']

/** A session that the server does not know, or not anymore. 429: `admin.guesses`, which only wrong sessions get. */
const isSignedOut = (error: unknown): boolean =>
  error instanceof ApiFailure && (error.status === 401 || error.code === 'rate_limit_exceeded')

/** `done`: what is said when it has succeeded, such as "API key revoked". */
declare module '@tanstack/react-query' {
  interface Register {
    mutationMeta: { done?: string }
  }
}

/**
 * Does not retry what the server has decided. A lost response is requested up to twice more. `confirm` shows that a mutation with the text
 * `done` has succeeded.
 */
export function createQueries(confirm: (text: string) => void): QueryClient {
  const onError = (error: unknown): void => {
    if (isSignedOut(error)) queries.setQueryData(sessionKey, null)
  }
  const queries: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({
      onError,
      onSuccess: (_answer, _sent, _context, { meta }) => {
        if (meta?.done !== undefined) confirm(meta.done)
      },
    }),
    defaultOptions: {
      queries: {
        retry: (failures, error) => failures < 2 && (!(error instanceof ApiFailure) || error.status === 0 || error.status === 503),
        staleTime: 5_000,
        refetchOnWindowFocus: true,
      },
      mutations: { retry: false },
    },
  })
  return queries
}

/** Null: not signed in. */
export function useSession() {
  return useQuery({
    queryKey: sessionKey,
    queryFn: ({ signal }) =>
      call<Session>('/session', { signal }).catch((error: unknown) => {
        if (isSignedOut(error)) return null
        throw error
      }),
    staleTime: Infinity,
  })
}

export function useSignIn() {
  const queries = useQueryClient()
  return useMutation({
    // Not as a variable of the mutation, because the cache would keep it.
    mutationFn: (readToken: () => string) => call<Session>('/session', { method: 'POST', body: { token: readToken() } }),
    onSuccess: (session) => {
      queries.setQueryData(sessionKey, session)
      forgetTheRest(queries)
    },
  })
}

export function useSignOut() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: () => call<void>('/session', { method: 'DELETE' }),
    onSuccess: () => {
      queries.setQueryData(sessionKey, null)
      forgetTheRest(queries)
    },
  })
}

/**
 * Removes what was loaded for the previous session. The query of the session itself stays, because the page observes it and would not
 * notice a replacement.
 */
function forgetTheRest(queries: QueryClient): void {
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] })
  queries.getMutationCache().clear()
}
