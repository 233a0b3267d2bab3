/** The kinds of providers by their usual names, and a current small model of each for a first agent. */
import type { ProviderKind } from '../../api/types.ts'

const labels: Record<ProviderKind, string> = {
  openai: 'OpenAI',
  anthropic: 'Anthropic',
  google: 'Google',
  'openai-compatible': 'OpenAI-compatible (vLLM, Ollama, OpenRouter, …)',
}

export const kinds = (Object.keys(labels) as ProviderKind[]).map((value) => ({ value, label: labels[value] }))

/** Returns the label without its examples. */
export const labelOfKind = (kind: string): string => kinds.find(({ value }) => value === kind)?.label.replace(/ \(.*/, '') ?? kind

/** Returns undefined for a self-hosted server, whose models are not known. */
export const firstModelOf = (kind: string): string | undefined =>
  ({ openai: 'gpt-5.4-mini', anthropic: 'claude-haiku-4-5', google: 'gemini-3.5-flash' })[kind]

/** The part of a model before its first slash. */
export const providerOf = (model: string): string => model.slice(0, model.indexOf('/'))
