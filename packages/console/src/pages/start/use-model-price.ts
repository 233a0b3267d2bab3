/** What is known of a model's price and window before an agent is saved with it. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { ModelPrice } from '../../api/types.ts'

/** Null: no model is named yet. What is shown meanwhile is of the model before; `data.model` says of which. */
export function useModelPrice(model: string | null) {
  return useQuery({
    queryKey: ['models', 'price', model],
    queryFn: ({ signal }) => call<ModelPrice>('/models/price', { query: { model }, signal }),
    enabled: model !== null,
    placeholderData: keepPreviousData,
    // It comes with the release.
    staleTime: Infinity,
  })
}
