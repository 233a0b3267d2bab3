/**
 * Opens providers as `Model`s, and owns the connections that all of them share. It does not know the store, encrypted keys or agents: the
 * caller passes in a provider with its key in plain text. It does not retry.
 */
import { ModelError } from './model.ts'
import type { Model } from './model.ts'
import { aiSdkModel } from './apis/ai-sdk.ts'
import { anthropicBaseUrl, anthropicMessages } from './apis/anthropic-messages.ts'
import { demoModel } from './demo.ts'
import { openEmbed } from './embed.ts'
import type { Embed } from './embed.ts'
import { defaultDeadlines } from './transport/exchange.ts'
import type { Deadlines } from './transport/exchange.ts'
import { googleBaseUrl, googleGemini } from './apis/google-gemini.ts'
import { listModels } from './list-models.ts'
import { namedTools } from './named-tools.ts'
import { openaiChat } from './apis/openai-chat.ts'
import { openaiBaseUrl, openaiResponses } from './apis/openai-responses.ts'
import { Agent } from '../guard/undici.ts'

/** `kind` as stored. `openai-compatible` needs a `baseUrl`; the other kinds have a default. `apiKey` may be empty. */
export type Provider = { kind: string; baseUrl: string | null; apiKey: string }

export type { Embed } from './embed.ts'

const embeddingKinds = ['openai', 'google', 'openai-compatible']

/** Whether providers of this kind offer embeddings. Anthropic has no embedding model, and neither has the demo model. */
export const canEmbed = (kind: string): boolean => embeddingKinds.includes(kind)

export interface Models {
  /** Opens a provider without connecting. Throws ModelError `refused` if the kind is unknown, or the base URL is missing or invalid. */
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
  const wire = { dispatcher, deadlines: options.deadlines ?? defaultDeadlines }

  return {
    open({ kind, baseUrl, apiKey }) {
      switch (kind) {
        case 'demo':
          return demoModel({ paceMs: options.demoPaceMs ?? demoPaceMs })
        case 'openai':
          return namedTools(aiSdkModel({ ...wire, dialect: openaiResponses, baseUrl: baseUrl ?? openaiBaseUrl, apiKey }))
        case 'anthropic':
          return namedTools(aiSdkModel({ ...wire, dialect: anthropicMessages, baseUrl: baseUrl ?? anthropicBaseUrl, apiKey }))
        case 'google':
          return namedTools(aiSdkModel({ ...wire, dialect: googleGemini, baseUrl: baseUrl ?? googleBaseUrl, apiKey }))
        case 'openai-compatible':
          if (baseUrl === null) throw new ModelError('refused', 'the provider has no base URL')
          return namedTools(openaiChat({ ...wire, baseUrl, apiKey }))
        default:
          // A newer release of Turnkeep may have stored this kind.
          throw new ModelError('refused', `the provider is of the kind ${kind}, which is not known here`)
      }
    },
    openEmbed({ kind, baseUrl, apiKey }) {
      const rest = { dispatcher, apiKey, deadlineMs: options.embedDeadlineMs ?? embedDeadlineMs }
      if (!canEmbed(kind)) throw new ModelError('refused', `a provider of the kind ${kind} makes no embeddings`)
      if (kind === 'google') return openEmbed({ ...rest, dialect: 'google', baseUrl: baseUrl ?? googleBaseUrl })
      if (kind === 'openai') return openEmbed({ ...rest, dialect: 'openai', baseUrl: baseUrl ?? openaiBaseUrl })
      if (baseUrl === null) throw new ModelError('refused', 'the provider has no base URL')
      return openEmbed({ ...rest, dialect: 'openai', baseUrl })
    },
    async list({ kind, baseUrl, apiKey }, signal) {
      switch (kind) {
        case 'demo':
          return []
        case 'anthropic':
          return listModels({ dispatcher, baseUrl: baseUrl ?? anthropicBaseUrl, dialect: 'anthropic', apiKey, signal })
        case 'google':
          return listModels({ dispatcher, baseUrl: baseUrl ?? googleBaseUrl, dialect: 'google', apiKey, signal })
        default:
          return listModels({ dispatcher, baseUrl: baseUrl ?? openaiBaseUrl, dialect: 'openai', apiKey, signal })
      }
    },
    close: () => dispatcher.destroy(),
  }
}
