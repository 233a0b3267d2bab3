/** The selection of the list of end users, as in its address and in the request. */
export const windows = [
  { value: 'day', label: 'Today (UTC)' },
  { value: 'month', label: 'This month (UTC)' },
  { value: 'total', label: 'All time' },
] as const
export const sorts = [
  { value: 'spend', label: 'Spend' },
  { value: 'last_activity', label: 'Last activity' },
] as const

export type Asked = { window: (typeof windows)[number]['value']; sort: (typeof sorts)[number]['value'] }

/** Unknown values are the defaults. */
export const readAsked = (params: URLSearchParams): Asked => ({
  window: windows.find(({ value }) => value === params.get('window'))?.value ?? 'month',
  sort: sorts.find(({ value }) => value === params.get('sort'))?.value ?? 'spend',
})
