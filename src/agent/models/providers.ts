/**
 * Opens the provider an agent names: its row and its key, read afresh within a second of any change, so that a turn runs on the key of now. What
 * an open provider is, a model or a maker of vectors, is the caller's. Never asks the provider anything.
 */
import { ModelError } from './model.ts'
import type { Provider } from './models.ts'
import type { Sealer } from '../../config/secrets.ts'
import type { Store } from '../../store/store.ts'
import { SharedReads } from '../shared-reads.ts'

// A provider's key or address is used by every process within a second of its change (surfaces, keys); here the same bound.
const providerAgeMs = 1000

export interface Providers<Opened> {
  /** Rejects with StoreUnavailable, with UnsealError, or with ModelError `refused` where there is none of that name or it cannot be opened. */
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
    const row = await store.read('findProvider', name)
    if (!row) throw new ModelError('refused', `there is no provider named ${name}`)
    const opened = open({ kind: row.kind, baseUrl: row.baseUrl, apiKey: sealer.open(row.sealedApiKey, row.id) })
    // What was read before a change serves those who asked before it, and is not kept.
    if (asked === changes) known.set(name, { opened, readAt })
    return opened
  }
}
