/**
 * Removes null from the messages of MCP clients, which send it in place of a field that is left out. The SDK rejects it (`mcp.tool`). Changes
 * nothing of the arguments of a call.
 */

// What a client has to send with `initialize`, and what some leave out. The server uses none of it.
const handshake = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'unknown', version: '0' } }

/** Returns the message without the fields that are null. A value that is not a message stays as it is. */
export function withoutNulls(message: unknown): unknown {
  if (!isObject(message) || typeof message['method'] !== 'string') return message
  const { id, params, ...rest } = message
  const { arguments: given, ...others } = isObject(params) ? params : {}
  const kept = { ...(cleaned(others) as object), ...(given === undefined || given === null ? {} : { arguments: given }) }
  const isHandshake = message['method'] === 'initialize'
  return {
    ...rest,
    // A notification has no ID. A request needs one, so null in a request is refused.
    ...(id === undefined || (id === null && message['method'].startsWith('notifications/')) ? {} : { id }),
    ...(isHandshake
      ? { params: { ...handshake, ...kept } }
      : isObject(params)
        ? { params: kept }
        : params === null || params === undefined
          ? {}
          : { params }),
  }
}

function cleaned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cleaned)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null)
      .map(([name, field]) => [name, cleaned(field)]),
  )
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
