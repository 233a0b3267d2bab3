/** The listed price and window of a model, requested after a person has stopped typing. */
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../../api/client.ts'
import type { ModelPrice } from '../../../api/types.ts'
import { joinModel } from './agent-values.ts'
import type { AgentValues } from './agent-values.ts'

// The length of a pause between two words.
const pauseMs = 400
// The list only changes with the server's version.
const freshForMs = 300_000

/** `listed` is undefined while it is not known yet, including while a person is typing. */
export function useModelPrice(model: AgentValues['model']) {
  const wanted = model.provider === '' || model.id.trim() === '' ? null : joinModel(model)
  const [asked] = useDebouncedValue(wanted, pauseMs)
  const found = useQuery({
    queryKey: ['model-price', asked],
    queryFn: ({ signal }) => call<ModelPrice>('/models/price', { query: { model: asked }, signal }),
    enabled: asked !== null,
    staleTime: freshForMs,
    retry: false,
  })
  const isOfThis = asked === wanted && wanted !== null
  return { wanted, listed: isOfThis ? found.data : undefined, error: isOfThis ? found.error : null }
}
