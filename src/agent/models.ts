/**
 * The models' front door: opens a provider as a `Model` and owns the connections that all of them share. Knows nothing of the store, of sealed
 * keys or of agents; a provider comes in with its key open. Never retries.
 */
import { Agent } from 'undici'
import { ModelError } from './model.ts'
import type { Model } from './model.ts'
import { demoModel } from './models/demo.ts'
import { defaultDeadlines } from './models/exchange.ts'
import type { Deadlines } from './models/exchange.ts'
import { listModels } from './models/list-models.ts'
import { openaiChat } from './models/openai-chat.ts'

export const providerKinds = ['openai', 'openai-compatible', 'demo'] as const

/** `kind` as it is stored: one of `providerKinds`. `openai-compatible` needs a `baseUrl`, `openai` has its own; `apiKey` may be empty. */
export type Provider = { kind: string; baseUrl: string | null; apiKey: string }

export interface Models {
  /** Opens no connection yet. Throws ModelError `refused` where the kind is unknown or the base URL is missing or none. */
  open(provider: Provider): Model
  /** The names of the models that an `openai` or `openai-compatible` provider says it serves. Rejects with ModelError, or `signal.reason`. */
  list(provider: Provider, signal: AbortSignal): Promise<string[]>
  /** Closes every connection at once; calls that still run end as `unavailable`. */
  close(): Promise<void>
}

/** Rulings, Streams: "connect 5 s", TLS included. */
const connectMs = 5000
// A conversation's next message comes within half a minute or not soon; a shorter hint of the server is kept.
const keepAliveMs = 30_000
/** One word group of the demo model every 10 ms: quick, and still seen to stream. */
const demoPaceMs = 10
const openaiBaseUrl = 'https://api.openai.com/v1'

export type ModelsOptions = { deadlines?: Deadlines; connectMs?: number; demoPaceMs?: number }

export function createModels(options: ModelsOptions = {}): Models {
  const deadlines = options.deadlines ?? defaultDeadlines
  // as many connections as there are running turns, which the process bounds itself
  const dispatcher = new Agent({ connectTimeout: options.connectMs ?? connectMs, keepAliveTimeout: keepAliveMs })

  return {
    open({ kind, baseUrl, apiKey }) {
      switch (kind) {
        case 'demo':
          return demoModel({ paceMs: options.demoPaceMs ?? demoPaceMs })
        case 'openai':
          return openaiChat({ dispatcher, baseUrl: baseUrl ?? openaiBaseUrl, apiKey, outputCap: 'max_completion_tokens', deadlines })
        case 'openai-compatible':
          if (baseUrl === null) throw new ModelError('refused', 'the provider has no base URL')
          return openaiChat({ dispatcher, baseUrl, apiKey, outputCap: 'max_tokens', deadlines })
        default:
          // stored by a newer Turnkeep
          throw new ModelError('refused', `the provider is of the kind ${kind}, which is not known here`)
      }
    },
    async list({ baseUrl, apiKey }, signal) {
      return listModels({ dispatcher, baseUrl: baseUrl ?? openaiBaseUrl, apiKey, signal })
    },
    close: () => dispatcher.destroy(),
  }
}
