/**
 * Wraps an AI SDK provider package as a `Model`, at the level of its `doStream`, which does not retry. This module makes the call and
 * interprets its failures; `fetch-stream.ts` sends the request, `ai-sdk-prompt.ts` writes the prompt, and `PartsAnswer` reads the parts of
 * the answer.
 */
import type { JSONObject, LanguageModelV4 } from '@ai-sdk/provider'
import type { Dispatcher } from 'undici'
import { eventLimit } from '../answer-limit.ts'
import type { Model } from '../model.ts'
import { writeCall } from './ai-sdk-prompt.ts'
import { parseBaseUrl } from '../transport/base-url.ts'
import type { Deadlines } from '../transport/exchange.ts'
import { openFetchStream } from '../transport/fetch-stream.ts'
import type { FetchStream } from '../transport/fetch-stream.ts'
import { PartsAnswer, failed } from './parts-answer.ts'

/** What one AI SDK provider package needs beyond the shared call. */
export type AiSdkProvider = {
  /** The package's name for the provider, which is the key of its options and metadata. */
  name: string
  /**
   * Imports the package on first use. The import takes 0.2 s, which neither the startup nor an installation without this provider should
   * pay for.
   */
  open(options: { baseURL: string; apiKey: string; modelId: string; fetch: typeof globalThis.fetch }): Promise<LanguageModelV4>
  /** `billing.token-kinds`: whether the API's prompt tokens do not include those that it read from its cache or wrote to it. */
  promptExcludesCache: boolean
  /** Whether this is the data of the last event of a stream. */
  isLast(data: string): boolean
  options?: JSONObject
}

export type AiSdkOptions = { dispatcher: Dispatcher; provider: AiSdkProvider; baseUrl: string; apiKey: string; deadlines: Deadlines }

/** Throws ModelError `refused` if the base URL is invalid. */
export function aiSdkModel({ dispatcher, provider, baseUrl: address, apiKey, deadlines }: AiSdkOptions): Model {
  const baseUrl = parseBaseUrl(address)
  const baseURL = baseUrl.origin + baseUrl.pathname.replace(/\/+$/, '')

  return {
    async generate(request, { signal, onText, onGenerated, traceparent }) {
      signal.throwIfAborted()
      const stop = new AbortController()
      const stream = openFetchStream({
        dispatcher,
        baseUrl,
        secret: apiKey,
        deadlines,
        signal: AbortSignal.any([signal, stop.signal]),
        traceparent,
        isLast: provider.isLast,
        maxEvents: eventLimit(request.maxOutputTokens),
      })
      try {
        const model = await provider.open({ baseURL, apiKey, modelId: request.modelId, fetch: stream.fetch })
        const { maxOutputTokens } = request
        const onSpeaking = stream.speaking
        const answer = new PartsAnswer({ onText, onGenerated, onSpeaking, secret: apiKey, maxOutputTokens, provider })
        const parts = await guarded(stream, async () => (await model.doStream(writeCall(request, provider))).stream.getReader())
        const read = async () => (await parts.read()).value
        for (let part = await guarded(stream, read); part; part = await guarded(stream, read)) answer.read(part)
        return answer.step()
      } finally {
        // Closes the socket of a failed call. After a successful call nothing listens to the signal any more.
        stop.abort()
      }
    },
  }

  /**
   * Reports the failure of the exchange rather than the error of the package, which treats every interruption as retryable and has its own
   * error type for every status.
   */
  async function guarded<Result>(stream: FetchStream, ask: () => Promise<Result>): Promise<Result> {
    try {
      return await ask()
    } catch (error) {
      const failure = stream.failure()
      if (failure) throw failure.cause
      throw failed(error, apiKey)
    }
  }
}
