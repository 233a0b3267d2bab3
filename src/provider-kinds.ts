/**
 * The kinds of providers, as they are stored and as the admin API names them. The heading "A new provider kind" in docs/development.md lists
 * what each of them needs.
 */
export const providerKinds = ['openai', 'anthropic', 'google', 'openai-compatible'] as const
export type ProviderKind = (typeof providerKinds)[number]
