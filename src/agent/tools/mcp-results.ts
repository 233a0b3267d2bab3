/**
 * Turns the result that a server sent into one that the protocol library accepts: it validates every field, and rejects a result for a field
 * that no one needs here. What is needed is read here or travels beside it, as `offered` (the tools of a list) and `answer` (of a call).
 */
import { isObject } from '../models/transport/fields.ts'
import type { Fields } from '../models/transport/fields.ts'
import { readTools } from './mcp-definitions.ts'

/** Versions with a handshake, as far as the library knows them. Their messages are alike as far as tools are concerned. */
const versions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** Returns a result of the form that the library expects for the method, whatever the server sent. */
export function acceptedResult(method: string, given: unknown): Fields {
  const result = isObject(given) ? given : {}
  switch (method) {
    case 'initialize':
      // Whether a server has tools is what its list says; servers leave the capability out, or set it to null.
      return { protocolVersion: acceptedVersion(result['protocolVersion']), capabilities: { tools: {} }, serverInfo: unnamed }
    case 'server/discover':
      return { resultType: 'complete', supportedVersions: textsIn(result['supportedVersions']), capabilities: { tools: {} } }
    case 'tools/list':
      return { resultType: 'complete', ...acceptedList(result) }
    case 'tools/call':
      // A tool that asks for input has not answered: the library explains that.
      return result['resultType'] === 'input_required' ? result : { resultType: 'complete', content: [], answer: given }
    default:
      return { resultType: 'complete' }
  }
}

/** The oldest version stands for those before it, the newest one for those after it, and for none. */
function acceptedVersion(version: unknown): string {
  if (typeof version !== 'string') return versions[0]!
  return versions.find((known) => known <= version) ?? versions.at(-1)!
}

function acceptedList({ tools, nextCursor }: Fields): Fields {
  const offered = readTools(tools)
  const usable = offered.filter(({ problem }) => problem === undefined)
  const cursor = typeof nextCursor === 'number' ? String(nextCursor) : nextCursor
  return {
    tools: usable.map(({ name, parameters }) => ({ name, inputSchema: parameters })),
    offered,
    ...(typeof cursor === 'string' ? { nextCursor: cursor } : {}),
  }
}

const unnamed = { name: 'unnamed', version: '0' }

const textsIn = (list: unknown): string[] => (Array.isArray(list) ? list.filter((item) => typeof item === 'string') : [])
