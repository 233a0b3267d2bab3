/** Calls a provider for an operator, who sees its own words if the call fails: shortened and without the key. Never retries. */
import { ModelError } from '../../agent/models/model.ts'
import type { Models } from '../../agent/models/models.ts'
import { keyBoundTo } from '../../config/provider-address.ts'
import { UnsealError } from '../../config/secrets.ts'
import type { Sealer } from '../../config/secrets.ts'
import type { Provider } from '../../store/queries/providers.ts'

type Opened = Parameters<Models['open']>[0]
export type CalledProvider = { provider: Provider; sealer: Sealer }
export type CallOutcome<Value> = { ok: true; value: Value } | { ok: false; error: string }

/** A failure of the provider, and a key that cannot be decrypted, are outcomes. Rethrows internal errors. */
export async function callProvider<Value>(
  { provider, sealer }: CalledProvider,
  deadlineMs: number,
  call: (opened: Opened, signal: AbortSignal) => Promise<Value>,
): Promise<CallOutcome<Value>> {
  const signal = AbortSignal.timeout(deadlineMs)
  try {
    const apiKey = sealer.open(provider.sealedApiKey, keyBoundTo(provider))
    return { ok: true, value: await call({ kind: provider.kind, baseUrl: provider.baseUrl, apiKey }, signal) }
  } catch (error) {
    if (signal.aborted) return { ok: false, error: `no response within ${deadlineMs / 1000} s` }
    if (error instanceof ModelError || error instanceof UnsealError) return { ok: false, error: error.message }
    throw error
  }
}
