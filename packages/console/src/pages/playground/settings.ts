/** What a message runs with: the current version for real, or a version or a draft without storing the turn. Pure. */
import type { AgentVersion } from '../../api/types.ts'

/** What a draft changes. An absent field is as in the version. */
export type Overrides = Partial<Pick<AgentVersion, 'system_prompt' | 'model' | 'temperature' | 'max_output_tokens'>>

/** `version`: null for the current one. */
export type Setting = { version: number | null; overrides: Overrides }

export const currentVersion: Setting = { version: null, overrides: {} }

export const isDraft = ({ overrides }: Setting): boolean => Object.keys(overrides).length > 0

/** Whether its messages are turns: stored and charged. */
export const isReal = (setting: Setting): boolean => setting.version === null && !isDraft(setting)

/** The index of the one whose message is a turn, because a message is charged at most once. -1: none. All others are previews. */
export const turnIndexOf = (settings: readonly Setting[]): number => settings.findIndex(isReal)

export const nameOf = (setting: Setting, current: number): string => {
  const version = setting.version === null ? `Version ${current} (current)` : `Version ${setting.version}`
  return isDraft(setting) ? `Draft of version ${setting.version ?? current}` : version
}

/** As in the address. */
export const readVersion = (text: string | null): number | null => (text !== null && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null)

/** The content of the version with the changes of the draft. */
export const contentOf = (version: AgentVersion, { overrides }: Setting): AgentVersion => ({ ...version, ...overrides })
