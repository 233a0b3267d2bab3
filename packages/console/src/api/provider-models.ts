/** The models that providers list, each with its price. The list is requested from the provider when a field for a model is shown. */
import { useQuery } from '@tanstack/react-query'
import { call, segment } from './client.ts'
import { useProviders } from './lists.ts'
import { useMay } from './session.ts'
import type { ProviderModels } from './types.ts'

export type ListedModel = ProviderModels['data'][number]
export type ListedModels = {
  models: readonly ListedModel[]
  isPending: boolean
  /** Why there is no list, in the words of the provider. */
  problem: string | null
  retry(): void
}

// The built-in model has no provider that could be asked.
const demo: ListedModel[] = [{ id: 'demo', price: null, context_tokens: null }]
const none: ListedModel[] = []
// Providers publish models a few times a month.
const freshForMs = 300_000

/** `providerName` empty: none is chosen yet. Without the permission there is no list, and no problem. */
export function useProviderModels(providerName: string): ListedModels {
  const may = useMay('providers', true)
  const id = useProviders().data?.find(({ name }) => name === providerName)?.id
  const found = useQuery({
    queryKey: ['provider-models', id],
    queryFn: ({ signal }) => call<ProviderModels>(`/providers/${segment(id!)}/models`, { signal }),
    enabled: may && id !== undefined,
    staleTime: freshForMs,
    retry: false,
  })
  const retry = (): void => void found.refetch()
  if (providerName === 'demo') return { models: demo, isPending: false, problem: null, retry }
  const problem = found.error?.message ?? (found.data?.ok === false ? (found.data.error ?? 'no reason was given') : null)
  return { models: found.data?.data ?? none, isPending: found.isFetching, problem, retry }
}
