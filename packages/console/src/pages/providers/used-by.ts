/** The agents that use a provider, through their model or their embedding model. */
import type { Agent } from '../../api/types.ts'

export function agentsOn(name: string, agents: Agent[]): Agent[] {
  const isOn = (model: string | null): boolean => model?.startsWith(`${name}/`) ?? false
  return agents.filter(({ model, knowledge }) => isOn(model) || isOn(knowledge.embedding_model))
}
