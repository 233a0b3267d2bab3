/** The name of an agent where a protocol allows only plain characters: the name of its MCP tool. */

// Clients join it with the name that the user gave the server, and model providers allow 64 characters in all.
const longest = 40

/** `Café Support` becomes `cafe-support`. A name without Latin letters and digits becomes `agent`. */
export function agentSlug(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
  return plain.slice(0, longest).replace(/-$/, '') || 'agent'
}
