/**
 * Writes the path and the body of a sample request in each language. The samples read the agent and the key from the variables AGENT_ID and
 * API_KEY, not TURNKEEP_…, because a server started in the same shell would reject those as unknown settings.
 */
export type Language = 'sh' | 'typescript' | 'python'
export type Samples = Record<Language, string>

const variables: Record<string, string> = { agent_id: 'AGENT_ID', conversation_id: 'CONVERSATION_ID', request_id: 'REQUEST_ID' }

/** Returns the path with each parameter replaced by what `insert` returns. */
const fill = (path: string, insert: (variable: string) => string): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => insert(variables[name]!))
export const inShell = (path: string): string => fill(path, (name) => `$${name}`)
export const inTypescript = (path: string): string => fill(path, (name) => `\${process.env.${name}}`)
export const inPython = (path: string): string => fill(path, (name) => `{os.environ['${name}']}`)

export const typescriptLiteral = (body: Record<string, unknown>): string =>
  `{ ${Object.entries(body)
    .map(([name, value]) => `${name}: ${JSON.stringify(value).replaceAll('"', "'")}`)
    .join(', ')} }`

export const pythonLiteral = (body: Record<string, unknown>): string =>
  `{${Object.entries(body)
    .map(([name, value]) => `"${name}": ${JSON.stringify(value)}`)
    .join(', ')}}`
