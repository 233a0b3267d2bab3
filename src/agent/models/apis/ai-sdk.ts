/**
 * Makes a `Model` of a provider whose requests an AI SDK package writes, at the level of its `doStream`, which does not retry. Only the request is
 * the package's: it rejects answers with anything that it does not know, so a reader of our own reads them. `ai-sdk-prompt.ts` writes the
 * prompt, and `exchange` sends the request.
 */
import type { JSONObject, LanguageModelV4 } from '@ai-sdk/provider'
import type { Dispatcher } from 'undici'
import { ModelError } from '../model.ts'
import type { Model, ModelRequest, ModelStep } from '../model.ts'
import { AnswerBody } from '../transport/answer-body.ts'
import type { Dialect } from '../transport/answer-body.ts'
import { parseBaseUrl } from '../transport/base-url.ts'
import { exchange } from '../transport/exchange.ts'
import type { Deadlines } from '../transport/exchange.ts'
import { operatorText } from '../transport/operator-text.ts'
import { writeCall } from './ai-sdk-prompt.ts'
import type { AnswerOptions, CollectedAnswer } from './collected-answer.ts'
import type { LoneClosings } from './lone-closings.ts'

/** What one AI SDK provider package needs beyond the shared call. */
export type AiSdkProvider = {
  /** The package's name for the provider, which is the key of its options and metadata. */
  name: string
  /**
   * Imports the package on first use. The import takes 0.2 s, which neither the startup nor an installation without this provider should
   * pay for.
   */
  open(options: { baseURL: string; apiKey: string; modelId: string; fetch: typeof globalThis.fetch }): Promise<LanguageModelV4>
  reader(options: AnswerOptions): Dialect & { readonly answer: CollectedAnswer; step(): ModelStep }
  options?: JSONObject
}

export type AiSdkOptions = {
  dispatcher: Dispatcher
  provider: AiSdkProvider
  baseUrl: string
  apiKey: string
  deadlines: Deadlines
  loneClosings: LoneClosings
}

/** Throws ModelError `refused` if the base URL is invalid. */
export function aiSdkModel({ dispatcher, provider, baseUrl: address, apiKey, deadlines, loneClosings }: AiSdkOptions): Model {
  const baseUrl = parseBaseUrl(address)
  const baseURL = baseUrl.origin + baseUrl.pathname.replace(/\/+$/, '')

  return {
    async generate(request, { signal, onText, onReset, onGenerated, onReports, traceparent }) {
      signal.throwIfAborted()
      const model = `${baseURL} ${request.modelId}`
      const { body, ...target } = await write(request, traceparent)
      const reader = provider.reader({ onText, onReset, onGenerated, secret: apiKey, request, holds: loneClosings.has(model) })
      onReports?.(() => reader.answer.usage.soFar())
      const call = { ...target, secret: apiKey, deadlines, signal }
      await exchange(dispatcher, { ...call, body }, new AnswerBody(reader, request.maxOutputTokens))
      const step = reader.step()
      loneClosings.note(model, reader.answer.closedAlone)
      return step
    },
  }

  /** Returns the request that the package sends for this one. Nothing is sent. */
  async function write(request: ModelRequest, traceparent: string | null | undefined): Promise<WrittenRequest> {
    let written: WrittenRequest | undefined
    const fetch: typeof globalThis.fetch = (target, init) => {
      const url = new URL(target instanceof Request ? target.url : target)
      for (const [name, value] of baseUrl.searchParams) url.searchParams.append(name, value)
      const headers = {
        ...Object.fromEntries(new Headers(init?.headers)),
        accept: 'text/event-stream, application/json',
        // Without this header a proxy may compress the stream, which delays pieces of it.
        'accept-encoding': 'identity',
        'user-agent': 'turnkeep',
        // `trace.context`
        ...(traceparent ? { traceparent } : {}),
      }
      written = { origin: url.origin, path: url.pathname + url.search, headers, body: String(init?.body) }
      return Promise.reject(isWritten)
    }
    try {
      const model = await provider.open({ baseURL, apiKey, modelId: request.modelId, fetch })
      await model.doStream(writeCall(request, provider))
    } catch (error) {
      if (written) return written
      const said = operatorText(String(error), apiKey)
      throw new ModelError('refused', 'provider_unusable', 'the request to the model server could not be written', { said, cause: error })
    }
    throw new Error('the package sent no request')
  }
}

type WrittenRequest = { origin: string; path: string; headers: Record<string, string>; body: string }

const isWritten = new Error('the request is written')
