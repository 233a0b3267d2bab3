/**
 * A provider's package as a `Model`, at the level of its `doStream`, which never retries. Owns the call around the package and what its failures
 * mean; the wire is ours (`fetch-stream.ts`), the prompt is written by `ai-sdk-prompt.ts`, the parts are read by `PartsAnswer`.
 */
import type { JSONObject, LanguageModelV4 } from '@ai-sdk/provider'
import type { Dispatcher } from 'undici'
import type { Model } from '../model.ts'
import { writeCall } from './ai-sdk-prompt.ts'
import { parseBaseUrl } from '../transport/base-url.ts'
import type { Deadlines } from '../transport/exchange.ts'
import { openFetchStream } from '../transport/fetch-stream.ts'
import type { FetchStream } from '../transport/fetch-stream.ts'
import { PartsAnswer, failed } from './parts-answer.ts'

/** What differs between the providers. */
export type Dialect = {
  /** The package's own name of the provider, under which its options and marks stand. */
  provider: string
  /** Imports the package, which costs 0.2 s once: a start and an installation without this provider do not pay for it. */
  open(options: { baseURL: string; apiKey: string; modelId: string; fetch: typeof globalThis.fetch }): Promise<LanguageModelV4>
  /** Whether these are the data of a stream's last event. */
  isLast(data: string): boolean
  options?: JSONObject
}

export type AiSdkOptions = { dispatcher: Dispatcher; dialect: Dialect; baseUrl: string; apiKey: string; deadlines: Deadlines }

/** Throws ModelError `refused` where the base URL is none. */
export function aiSdkModel({ dispatcher, dialect, baseUrl: address, apiKey, deadlines }: AiSdkOptions): Model {
  const baseUrl = parseBaseUrl(address)
  const baseURL = baseUrl.origin + baseUrl.pathname.replace(/\/+$/, '')

  return {
    async generate(request, { signal, onText }) {
      signal.throwIfAborted()
      const stop = new AbortController()
      const stream = openFetchStream({
        dispatcher,
        baseUrl,
        secret: apiKey,
        deadlines,
        signal: AbortSignal.any([signal, stop.signal]),
        isLast: dialect.isLast,
      })
      try {
        const model = await dialect.open({ baseURL, apiKey, modelId: request.modelId, fetch: stream.fetch })
        const { maxOutputTokens } = request
        const answer = new PartsAnswer({ onText, onSpeaking: stream.speaking, secret: apiKey, maxOutputTokens, provider: dialect.provider })
        const parts = await guarded(stream, async () => (await model.doStream(writeCall(request, dialect))).stream.getReader())
        const read = async () => (await parts.read()).value
        for (let part = await guarded(stream, read); part; part = await guarded(stream, read)) answer.read(part)
        return answer.step()
      } finally {
        // closes the socket of a call that failed; one that succeeded has let go of the signal
        stop.abort()
      }
    },
  }

  /** What the wire says of a failure comes before the package's own words, which call every cut retryable and every status an error of its kind. */
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
