/** Addresses of the admin API that more than one command asks: an agent, and the lists below it. */

export const agentPath = (id: string): string => `/agents/${encodeURIComponent(id)}`
export const keysPath = (agentId: string): string => `${agentPath(agentId)}/keys`
export const documentsPath = (agentId: string): string => `${agentPath(agentId)}/documents`
