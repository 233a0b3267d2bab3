/**
 * Opens providers as `Model`s, and owns the connections that all of them share. It does not know the store, encrypted keys or agents: the
 * caller passes in a provider with its key in plain text. It does not retry.
 */
import { ModelError } from './model.ts'
import type { Model } from './model.ts'
import { aiSdkModel } from './apis/ai-sdk.ts'
import { anthropicMessages } from './apis/anthropic-messages.ts'
import { demoModel } from './demo.ts'
import { openEmbed } from './embed.ts'
import type { Embed } from './embed.ts'
import { defaultDeadlines } from './transport/exchange.ts'
import type { Deadlines } from './transport/exchange.ts'
import { LoneClosings } from './apis/lone-closings.ts'
import { googleGemini } from './apis/google-gemini.ts'
import { listModels } from './list-models.ts'
import { namedTools } from './named-tools.ts'
import { openaiChat } from './apis/openai-chat.ts'
import { openaiResponses } from './apis/openai-responses.ts'
import { baseUrlOf } from '../../config/provider-address.ts'
import type { ProviderKind } from '../../provider-kinds.ts'
import { Agent } from '../guard/undici.ts'

/** `openai-compatible` needs a `baseUrl`; the other kinds have a default. `apiKey` may be empty. */
export type Provider = { kind: ProviderKind | 'demo'; baseUrl: string | null; apiKey: string }

export type { Embed } from './embed.ts'

const embeddingKinds = ['openai', 'google', 'openai-compatible'] as const satisfies readonly ProviderKind[]

/** Whether providers of this kind offer embeddings. Anthropic has no embedding model, and neither has the demo model. */
export const canEmbed = (kind: string): kind is (typeof embeddingKinds)[number] => embeddingKinds.some((known) => known === kind)

export interface Models {
  /** Opens a provider without connecting. Throws ModelError `refused` if the base URL is missing or invalid. */
  open(provider: Provider): Model
  /**
   * Opens a provider for embeddings without connecting. Throws ModelError `refused` in the same cases, and if `canEmbed` is false for its
   * kind.
   */
  openEmbed(provider: Provider): Embed
  /** Returns the names of the models that the provider lists; none for `demo`. Rejects with ModelError or `signal.reason`. */
  list(provider: Provider, signal: AbortSignal): Promise<string[]>
  /** Closes every connection immediately. Calls that are still running reject as `unavailable`. */
  close(): Promise<void>
}

/** 5 s including TLS; see the heading "Limits" in docs/spec.md. */
const connectMs = 5000
// The next message of a conversation usually comes within half a minute or much later. If the server announces a shorter time, that one is
// used.
const keepAliveMs = 30_000
/**
 * A hosted provider answers a batch of 64 short texts within two seconds; a model on the operator's own hardware may need ten times as
 * long.
 */
const embedDeadlineMs = 20_000
/** Time between two pieces of the demo model's answer: fast, but visibly streaming. */
const demoPaceMs = 10

export type ModelsOptions = { deadlines?: Deadlines; connectMs?: number; embedDeadlineMs?: number; demoPaceMs?: number }

export function createModels(options: ModelsOptions = {}): Models {
  // No limit on connections: there are as many as running turns, and the process limits those.
  const dispatcher = new Agent({ connectTimeout: options.connectMs ?? connectMs, keepAliveTimeout: keepAliveMs })
  const wire = { dispatcher, deadlines: options.deadlines ?? defaultDeadlines, loneClosings: new LoneClosings() }

  return {
    open({ kind, baseUrl: given, apiKey }) {
      if (kind === 'demo') return demoModel({ paceMs: options.demoPaceMs ?? demoPaceMs })
      const baseUrl = baseUrlOf({ kind, baseUrl: given })
      if (baseUrl === undefined) throw noBaseUrl()
      switch (kind) {
        case 'openai':
          return namedTools(aiSdkModel({ ...wire, provider: openaiResponses, baseUrl, apiKey }))
        case 'anthropic':
          return namedTools(aiSdkModel({ ...wire, provider: anthropicMessages, baseUrl, apiKey }))
        case 'google':
          return namedTools(aiSdkModel({ ...wire, provider: googleGemini, baseUrl, apiKey }))
        case 'openai-compatible':
          return namedTools(openaiChat({ ...wire, baseUrl, apiKey }))
      }
    },
    openEmbed({ kind, baseUrl: given, apiKey }) {
      if (!canEmbed(kind)) throw new ModelError('refused', 'provider_unusable', `a provider of the kind ${kind} makes no embeddings`)
      const baseUrl = baseUrlOf({ kind, baseUrl: given })
      if (baseUrl === undefined) throw noBaseUrl()
      const api = kind === 'google' ? 'google' : 'openai'
      return openEmbed({ dispatcher, api, baseUrl, apiKey, deadlineMs: options.embedDeadlineMs ?? embedDeadlineMs })
    },
    async list({ kind, baseUrl: given, apiKey }, signal) {
      if (kind === 'demo') return []
      const baseUrl = baseUrlOf({ kind, baseUrl: given })
      if (baseUrl === undefined) throw noBaseUrl()
      const api = kind === 'anthropic' || kind === 'google' ? kind : 'openai'
      return listModels({ dispatcher, baseUrl, api, apiKey, signal })
    },
    close: () => dispatcher.destroy(),
  }
}

const noBaseUrl = (): ModelError => new ModelError('refused', 'provider_unusable', 'the provider has no base URL')
