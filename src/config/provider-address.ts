/**
 * Where a provider is: its base URL, and the server that its API key is for. A key is encrypted for the provider and that server, so it
 * cannot be decrypted once the base URL leads to another one, however that came about.
 */
import type { ProviderKind } from '../provider-kinds.ts'

/** Kinds that are not listed have no default. */
const defaults: { readonly [Kind in ProviderKind]?: string } = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
}

/** `kind` and `baseUrl` as stored; null is the default of the kind. */
export type Address = { kind: ProviderKind; baseUrl: string | null }

/** Returns undefined if the kind has no default. */
export const baseUrlOf = ({ kind, baseUrl }: Address): string | undefined => baseUrl ?? defaults[kind]

/** Returns scheme, host and port of the server, or an empty string if there is no valid base URL. */
export const originOf = (address: Address): string => URL.parse(baseUrlOf(address) ?? '')?.origin ?? ''

/** Returns what the API key of a provider is encrypted for. */
export const keyBoundTo = (provider: Address & { id: string }): string => JSON.stringify(['provider', provider.id, originOf(provider)])
