/** Which agent is the one that the first start has made. */
import type { Agent } from '../../api/types.ts'

/** What the first start has made, where no provider was set. */
export const isDemo = ({ name, model }: Agent): boolean => name === 'demo' && model.startsWith('demo/')
