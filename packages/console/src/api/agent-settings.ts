/** The settings of an agent as the server declares them: their bounds and initial values. */
import { agentFields } from '../../../../src/resources/agent.ts'
import { nameOf } from '../../../../src/resources/field.ts'
import type { Field } from '../../../../src/resources/field.ts'

const settings = new Map(Object.entries<Field>(agentFields).map(([name, field]) => [nameOf(name, field), field]))

/** `name`: that of the API, such as `history.max_tokens`. Throws for a setting that is no number. */
export function boundsOf(name: string): { least: number; most: number; initial: number } {
  const { kind, initial } = settings.get(name)!
  const { of, ...bounds } = kind.of === 'null' ? kind.or : kind
  if (!('max' in bounds) || (of !== 'whole' && of !== 'number' && of !== 'text')) throw new Error(`${name} has no bounds`)
  return { least: bounds.min, most: bounds.max, initial: Number(initial) }
}
