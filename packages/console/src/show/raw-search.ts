/** The query of the address for the router, which `useSearchParams` of wouter then decodes once. */
import type { BaseSearchHook } from 'wouter'
import { useSearch } from 'wouter/use-browser-location'

/** wouter decodes the query before URLSearchParams decodes its values, so each percent sign is encoded for the first one. */
export const useRawSearch: BaseSearchHook = () => useSearch().replaceAll('%', '%25')
