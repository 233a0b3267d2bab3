/** Who is signed in, and the queries of the page: an answer 401 anywhere leads back to the sign-in. */
import { MutationCache, QueryCache, QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ApiFailure, call } from './client.ts'
import type { Session } from './types.ts'

const sessionKey = ['session']

/** No retries of what the server has decided; a lost answer is asked for twice more. */
export function createQueries(): QueryClient {
  const onError = (error: unknown): void => {
    if (error instanceof ApiFailure && error.status === 401) queries.setQueryData(sessionKey, null)
  }
  const queries: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
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

/** Null: nobody is signed in. */
export function useSession() {
  return useQuery({
    queryKey: sessionKey,
    queryFn: ({ signal }) =>
      call<Session>('/session', { signal }).catch((error: unknown) => {
        if (error instanceof ApiFailure && error.status === 401) return null
        throw error
      }),
    staleTime: Infinity,
  })
}

export function useSignIn() {
  const queries = useQueryClient()
  return useMutation({
    // Not as a variable of the mutation, which the cache would keep.
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

/** What was read and done for whoever was signed in before. The session stays: the page looks at it, and would not see another one in its place. */
function forgetTheRest(queries: QueryClient): void {
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] })
  queries.getMutationCache().clear()
}
