/** The known price and window of a model before an agent is saved with it. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { ModelPrice } from '../../api/types.ts'

/** Null: no model is named yet. Meanwhile the previous model's data is shown; `data.model` names it. */
export function useModelPrice(model: string | null) {
  return useQuery({
    queryKey: ['models', 'price', model],
    queryFn: ({ signal }) => call<ModelPrice>('/models/price', { query: { model }, signal }),
    enabled: model !== null,
    placeholderData: keepPreviousData,
    // The data comes with the release.
    staleTime: Infinity,
  })
}
