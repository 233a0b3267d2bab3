/**
 * Tests a provider: one small call with a short deadline, and its result in the provider's own words. They are shown to the operator only,
 * shortened and without the key. Never retries, never writes.
 */
import { ModelError } from '../../agent/models/model.ts'
import type { ModelRequest } from '../../agent/models/model.ts'
import type { Models } from '../../agent/models/models.ts'
import { callProvider } from './call-provider.ts'
import type { CalledProvider } from './call-provider.ts'

/** `modelId` is undefined if none was known: then the list of models was requested. */
export type ProviderTest = { modelId: string | undefined; latencyMs: number } & ({ ok: true } | { ok: false; error: string })

export type ProviderTestOptions = CalledProvider & {
  /** Undefined: any model that the provider serves. */
  modelId: string | undefined
  models: Models
}

// Long enough for a local server that first loads its model, short enough for a person who waits.
const deadlineMs = 20_000

export async function testProvider({ provider, modelId, sealer, models }: ProviderTestOptions): Promise<ProviderTest> {
  const startedAt = performance.now()
  let tested = modelId
  const outcome = await callProvider({ provider, sealer }, deadlineMs, async (opened, signal) => {
    if (tested === undefined) {
      const served = await models.list(opened, signal)
      // Hosted providers list dozens of models that are not chat models, so the list itself proves that URL and key work. A self-hosted
      // server is tested with one of its models.
      if (provider.kind !== 'openai-compatible') return
      tested = served[0]
      if (tested === undefined) throw new ModelError('unavailable', 'invalid_answer', 'the server lists no models')
    }
    await models.open(opened).generate(tinyRequest(tested), { signal, onText: () => undefined })
  })
  const result = outcome.ok ? ({ ok: true } as const) : outcome
  return { ...result, modelId: tested, latencyMs: Math.round(performance.now() - startedAt) }
}

const tinyRequest = (modelId: string): ModelRequest => ({
  modelId,
  messages: [{ role: 'user', content: 'Answer with the one word: ready' }],
  tools: [],
  // Some models refuse a smaller limit.
  maxOutputTokens: 16,
  temperature: null,
  passages: [],
})
