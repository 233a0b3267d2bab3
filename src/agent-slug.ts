/**
 * The name of an agent where a protocol allows only plain characters: of its MCP tool, and of its model in OpenAI's API. `Café Support` becomes
 * `cafe-support`. Empty for a name without Latin letters and digits.
 */
export const agentSlug = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')

/** Whether a text means the agent of a key: its ID, or the slug of its name. */
export const isAgentOf = ({ agentId, agentName }: { agentId: string; agentName: string }, text: string): boolean =>
  text === agentId || (text !== '' && text === agentSlug(agentName))
