/**
 * The operator's test of a provider: one tiny call with a short deadline, and what came of it in the provider's own words. They go to the
 * operator alone, shortened and without the key. Never retries, never writes. Surfaces: POST /providers/{id}/test.
 */
import { ModelError } from '../../agent/models/model.ts'
import type { ModelRequest } from '../../agent/models/model.ts'
import type { Models } from '../../agent/models/models.ts'
import { UnsealError } from '../../config/secrets.ts'
import type { Sealer } from '../../config/secrets.ts'
import type { Provider } from '../../store/queries/providers.ts'

/** `modelId` is undefined where none was known: the list of models answered, or failed, instead of a model. */
export type ProviderTest = { modelId: string | undefined; latencyMs: number } & ({ ok: true } | { ok: false; error: string })

export type ProviderTestOptions = {
  provider: Provider
  /** Undefined: one that the provider serves. */
  modelId: string | undefined
  sealer: Sealer
  models: Models
}

// Long enough for a local server that loads its model first, short enough for somebody who waits at a button.
const deadlineMs = 20_000

export async function testProvider({ provider, modelId, sealer, models }: ProviderTestOptions): Promise<ProviderTest> {
  const startedAt = performance.now()
  const signal = AbortSignal.timeout(deadlineMs)
  let tested = modelId
  const result = await callProvider().then(
    () => ({ ok: true }) as const,
    (error: unknown) => ({ ok: false, error: wordsOf(error, signal) }) as const,
  )
  return { ...result, modelId: tested, latencyMs: Math.round(performance.now() - startedAt) }

  async function callProvider(): Promise<void> {
    const opened = { kind: provider.kind, baseUrl: provider.baseUrl, apiKey: sealer.open(provider.sealedApiKey, provider.id) }
    if (tested === undefined) {
      const served = await models.list(opened, signal)
      // Hosted providers list dozens of models that do not chat: there the list itself proves address and key. A server of one's own serves what it is asked for.
      if (provider.kind !== 'openai-compatible') return
      tested = served[0]
      if (tested === undefined) throw new ModelError('unavailable', 'the server lists no models')
    }
    await models.open(opened).generate(tinyRequest(tested), { signal, onText: () => undefined })
  }
}

const tinyRequest = (modelId: string): ModelRequest => ({
  modelId,
  messages: [{ role: 'user', content: 'Answer with the one word: ready' }],
  tools: [],
  // Some models refuse a smaller cap.
  maxOutputTokens: 16,
  temperature: null,
  passages: [],
})

/** Rethrows what is a fault of ours. */
function wordsOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return `no response within ${deadlineMs / 1000} s`
  if (error instanceof ModelError || error instanceof UnsealError) return error.message
  throw error
}
