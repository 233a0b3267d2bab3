/** Which agents run on a provider: by their model, or by the model that makes vectors of their documents. */
import type { Agent } from '../../api/types.ts'

export function agentsOn(name: string, agents: Agent[]): Agent[] {
  const isOn = (model: string | null): boolean => model?.startsWith(`${name}/`) ?? false
  return agents.filter(({ model, knowledge }) => isOn(model) || isOn(knowledge.embedding_model))
}
