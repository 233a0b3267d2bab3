/** Writes the request that started a turn as a command for a shell. Any text is safe in it, and nothing invisible is. Pure. */

type Request = { apiUrl: string; agentId: string; externalUserId: string; message: string; idempotencyKey: string }

/** The API key is a variable, because a command stays in the history of its shell. */
export function curlOf({ apiUrl, agentId, externalUserId, message, idempotencyKey }: Request): string {
  const url = `${apiUrl.replace(/\/+$/, '')}/v1/agents/${encodeURIComponent(agentId)}/chat`
  const body = visible(JSON.stringify({ external_user_id: externalUserId, message }))
  return `curl ${quoted(url)} \\
  -H "Authorization: Bearer $TURNKEEP_API_KEY" \\
  -H ${quoted(`Idempotency-Key: ${idempotencyKey}`)} \\
  -H 'Content-Type: application/json' \\
  --data-raw ${quoted(body)}`
}

/** In single quotes a shell reads every character as it is, except the quote itself. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

// What a terminal may act on or not show: controls, and characters that change the direction or have no width.
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** JSON with these characters escaped is the same JSON. */
const visible = (json: string): string =>
  json.replaceAll(invisible, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )
