/** The address before a dialect's own paths, as an operator wrote it. */
import { ModelError } from '../model.ts'

/** Throws ModelError `refused` where it is none: the operator's to mend. */
export function parseBaseUrl(baseUrl: string): URL {
  const url = URL.parse(baseUrl)
  if (!url || !/^https?:$/.test(url.protocol)) throw new ModelError('refused', 'the base URL of the provider is not an http or https URL')
  return url
}
