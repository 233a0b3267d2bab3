/** Which agent was created by the first start. */
import type { Agent } from '../../api/types.ts'

/** What the first start creates if no provider is set. */
export const isDemo = ({ name, model }: Agent): boolean => name === 'demo' && model.startsWith('demo/')
