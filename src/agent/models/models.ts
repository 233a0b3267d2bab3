/**
 * The models' front door: opens a provider as a `Model` and owns the connections that all of them share. Knows nothing of the store, of sealed
 * keys or of agents; a provider comes in with its key open. Never retries.
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

/** `kind` as it is stored. `openai-compatible` needs a `baseUrl`, the others have their own; `apiKey` may be empty. */
export type Provider = { kind: string; baseUrl: string | null; apiKey: string }

export type { Embed } from './embed.ts'

const embeddingKinds = ['openai', 'google', 'openai-compatible']

/** Whether a provider of this kind makes vectors. Anthropic has no model that does, and the demo model is none. */
export const canEmbed = (kind: string): boolean => embeddingKinds.includes(kind)

export interface Models {
  /** Opens no connection yet. Throws ModelError `refused` where the kind is unknown or the base URL is missing or none. */
  open(provider: Provider): Model
  /** Opens a provider for vectors; no connection yet. Throws ModelError `refused` where `canEmbed` denies its kind, or as `open` does. */
  openEmbed(provider: Provider): Embed
  /** The names of the models that a provider says it serves; of `demo`, none. Rejects with ModelError, or `signal.reason`. */
  list(provider: Provider, signal: AbortSignal): Promise<string[]>
  /** Closes every connection at once; calls that still run end as `unavailable`. */
  close(): Promise<void>
}

/** Rulings, Streams: "connect 5 s", TLS included. */
const connectMs = 5000
// A conversation's next message comes within half a minute or not soon; a shorter hint of the server is kept.
const keepAliveMs = 30_000
/** A batch of 64 short texts takes a hosted provider a second or two, and a model on the operator's own machine ten times that. */
const embedDeadlineMs = 20_000
/** One word group of the demo model every 10 ms: quick, and still seen to stream. */
const demoPaceMs = 10

export type ModelsOptions = { deadlines?: Deadlines; connectMs?: number; embedDeadlineMs?: number; demoPaceMs?: number }

export function createModels(options: ModelsOptions = {}): Models {
  // as many connections as there are running turns, which the process bounds itself
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
          // stored by a newer Turnkeep
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
