/**
 * The session and who is signed in. A session that is not valid leads to the sign-in, with any request. What the principal may not do is
 * hidden or explained here, and refused by the server.
 */
import { MutationCache, QueryCache, QueryClient, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, useContext } from 'react'
import { ApiFailure, call } from './client.ts'
import type { Me, Permission, Session } from './types.ts'

const sessionKey = ['session']

/** `me`: the principal of the session. */
export type SignedIn = { session: Session; me: Me }

/** A session that the server does not know, or not anymore. 429 of another kind than a limit: `admin.guesses`, which only wrong sessions get. */
const isSignedOut = (error: unknown): boolean =>
  error instanceof ApiFailure && (error.status === 401 || (error.code === 'rate_limit_exceeded' && !error.isLimited))

/** `done`: what is said when it has succeeded, such as "API key revoked". `signsIn`: a 401 says nothing about the session. */
declare module '@tanstack/react-query' {
  interface Register {
    mutationMeta: { done?: string; signsIn?: true }
    queryMeta: { signsIn?: true }
  }
}

/**
 * Does not retry what the server has decided. A lost response is requested up to twice more. `confirm` shows that a mutation with the text
 * `done` has succeeded.
 */
export function createQueries(confirm: (text: string) => void): QueryClient {
  const signOutIf = (error: unknown): void => {
    if (isSignedOut(error)) queries.setQueryData(sessionKey, null)
  }
  const queries: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, { meta }) => {
        if (!meta?.signsIn) signOutIf(error)
      },
    }),
    mutationCache: new MutationCache({
      onError: (error, _sent, _context, { meta }) => {
        if (!meta?.signsIn) signOutIf(error)
      },
      onSuccess: (_answer, _sent, _context, { meta }) => {
        if (meta?.done !== undefined) confirm(meta.done)
      },
    }),
    defaultOptions: {
      queries: {
        retry: (failures, error) =>
          failures < 2 && (!(error instanceof ApiFailure) || error.status === 0 || error.status === 503 || error.isLimited),
        retryDelay: (failures, error) =>
          1000 * (error instanceof ApiFailure && error.isLimited ? (error.retryAfterSeconds ?? 1) : 2 ** failures),
        staleTime: 5_000,
        refetchOnWindowFocus: true,
      },
      mutations: { retry: false },
    },
  })
  return queries
}

/** Null: not signed in. */
const sessionQuery = queryOptions({
  queryKey: sessionKey,
  queryFn: async ({ signal }): Promise<SignedIn | null> => {
    try {
      const session = await call<Session>('/session', { signal })
      return { session, me: await call<Me>('/me', { signal }) }
    } catch (error) {
      if (isSignedOut(error)) return null
      throw error
    }
  },
  staleTime: Infinity,
})

export const useSession = () => useQuery(sessionQuery)

/** Reads again who is signed in, after a change of the own account. */
export function useRefreshMe(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => void (await queries.fetchQuery({ ...sessionQuery, staleTime: 0 }))
}

/** Reads the session after a sign-in, and forgets what was loaded for the previous one. */
export function useEnter(): () => Promise<void> {
  const queries = useQueryClient()
  const refresh = useRefreshMe()
  return async () => {
    removeTheRest(queries)
    await refresh()
  }
}

/** A way to sign in. Its secrets are not variables of the mutation, because the cache would keep them. */
export function useSignIn(signIn: () => Promise<unknown>) {
  const enter = useEnter()
  return useMutation({
    meta: { signsIn: true },
    mutationFn: async () => {
      await signIn()
      await enter()
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
  removeTheRest(queries)
  queries.getMutationCache().clear()
}

const removeTheRest = (queries: QueryClient): void => queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] })

/** Who is signed in, below the shell. */
export const MeContext = createContext<Me | null>(null)

export function useMe(): Me {
  const me = useContext(MeContext)
  if (!me) throw new Error('useMe is used outside of a session')
  return me
}

/** What a page or an action requires. `installation`: also that the principal is not restricted to an owner. */
export type Needs = { permission: Permission | readonly Permission[]; installation?: true }

/** With several permissions, one of them is enough. */
export function allows({ permissions, owner_id: ownerId }: Me, { permission, installation = undefined }: Needs): boolean {
  if (installation && ownerId !== null) return false
  return [permission].flat().some((one) => permissions.includes(one))
}

/** The server refuses every price that a principal restricted to an owner sends: an owner must not set what it pays. */
export const useMaySetPrices = (): boolean => useMe().owner_id === null

export function useMay(permission: Permission | readonly Permission[], installation?: true): boolean {
  return allows(useMe(), { permission, ...(installation ? { installation } : {}) })
}
