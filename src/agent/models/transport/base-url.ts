/** Parses the base URL that the operator set for a provider, to which each API adds its own paths. */
import { ModelError } from '../model.ts'

/** Throws ModelError `refused` if it is not an http or https URL; only the operator can fix that. */
export function parseBaseUrl(baseUrl: string): URL {
  const url = URL.parse(baseUrl)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new ModelError('refused', 'provider_unusable', 'the base URL of the provider is not an http or https URL')
  return url
}
