/**
 * Opens the provider that an agent names. Its row and key are cached for at most a second, so that a turn uses the current key. The caller
 * decides what an open provider is: a model or an embedding model. No request is sent to the provider here.
 */
import { ModelError } from './model.ts'
import type { Provider } from './models.ts'
import { keyBoundTo } from '../../config/provider-address.ts'
import type { Sealer } from '../../config/secrets.ts'
import type { Store } from '../../store/store.ts'
import { SharedReads } from '../shared-reads.ts'

// Every process picks up a change within this time; API keys have the same bound.
const providerAgeMs = 1000

export interface Providers<Opened> {
  /** Rejects with StoreUnavailable, with UnsealError, or with ModelError `refused` if the provider does not exist or cannot be opened. */
  open(name: string): Promise<Opened>
}

export type ProvidersOptions<Opened> = { store: Store; sealer: Sealer; open: (provider: Provider) => Opened }

export function createProviders<Opened>({ store, sealer, open }: ProvidersOptions<Opened>): Providers<Opened> {
  const known = new Map<string, { opened: Opened; readAt: number }>()
  const reads = new SharedReads<Opened>()
  let changes = 0
  store.onChange(() => {
    changes++
    known.clear()
    reads.forget()
  })

  return {
    async open(name) {
      const present = known.get(name)
      if (present && performance.now() - present.readAt < providerAgeMs) return present.opened
      if (name === 'demo') return open({ kind: 'demo', baseUrl: null, apiKey: '' })
      return reads.read(name, () => readProvider(name))
    },
  }

  async function readProvider(name: string): Promise<Opened> {
    const readAt = performance.now()
    const asked = changes
    const row = await store.read.findProvider(name)
    if (!row) throw new ModelError('refused', 'provider_not_found', `there is no provider named ${name}`)
    const opened = open({ kind: row.kind, baseUrl: row.baseUrl, apiKey: sealer.open(row.sealedApiKey, keyBoundTo(row)) })
    // If something changed during the read, the result still goes to the callers that were waiting for it, but is not cached.
    if (asked === changes) known.set(name, { opened, readAt })
    return opened
  }
}
