/** The filters of feedback, in the page's address and in the request. */

/** Empty: no filter. */
export type Filters = { agent_id: string; rating: '' | 'up' | 'down'; tag: string }

export const noFilters: Filters = { agent_id: '', rating: '', tag: '' }

/** The filters in an address. An unknown rating is ignored. */
export function readFilters(params: URLSearchParams): Filters {
  const rating = params.get('rating')
  return {
    agent_id: params.get('agent_id') ?? '',
    rating: rating === 'up' || rating === 'down' ? rating : '',
    tag: params.get('tag') ?? '',
  }
}

export const writeFilters = (filters: Filters): [string, string][] => Object.entries(filters).filter(([, value]) => value !== '')

export const isFiltered = (filters: Filters): boolean => writeFilters(filters).length > 0
