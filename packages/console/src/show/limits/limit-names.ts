/** How the scopes and windows of spend limits are called. */
export const scopes = [
  { value: 'end_user', label: 'Each end user' },
  { value: 'api_key', label: 'Each API key' },
  { value: 'agent', label: 'This agent' },
]
export const windows = [
  { value: 'day', label: 'UTC day' },
  { value: 'month', label: 'UTC month' },
  { value: 'total', label: 'All time' },
]
export const labelOf = (choices: { value: string; label: string }[], value: string): string =>
  choices.find((choice) => choice.value === value)?.label ?? value
