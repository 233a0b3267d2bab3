/** Paths of the admin API that more than one command uses. */

export const ownerPath = (id: string): string => `/owners/${encodeURIComponent(id)}`
export const agentPath = (id: string): string => `/agents/${encodeURIComponent(id)}`
export const keysPath = (agentId: string): string => `${agentPath(agentId)}/keys`
export const documentsPath = (agentId: string): string => `${agentPath(agentId)}/documents`
