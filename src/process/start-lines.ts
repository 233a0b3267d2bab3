/**
 * The text that the server prints on stdout when it is ready: where the console and its token are, and a command to try. Contains no
 * secret: the command reads the API key from its file.
 */

export type StartLines = {
  url: string
  adminUrl: string
  /** The file that holds the admin token, or undefined if TURNKEEP_ADMIN_TOKEN is set. */
  tokenPath: string | undefined
  limiter: 'ok' | 'unavailable'
  /** `agent`: what the path calls it, the slug of its name or its ID. */
  demo: { agent: string; keyPath: string } | undefined
}

export function startLines({ url, adminUrl, tokenPath, limiter, demo }: StartLines): string {
  const token = tokenPath === undefined ? 'the value of TURNKEEP_ADMIN_TOKEN' : `cat ${shellQuoted(tokenPath)}`
  const lines = [
    'Turnkeep is ready.',
    '',
    `  Console      ${reachable(adminUrl)}/console`,
    `  Admin token  ${token}`,
    `  API docs     ${reachable(url)}/docs`,
    ...(limiter === 'ok'
      ? []
      : ['  Warning      The rate limiter (REDIS_URL) is unavailable. Until it responds, every message is answered with 503.']),
    '',
  ]
  if (!demo) return lines.join('\n')
  const body = { external_user_id: 'you', message: 'What happens when I send the same Idempotency-Key twice?' }
  return [
    ...lines,
    'Run this command twice: the second run returns the same reply, without a model call and without a charge.',
    '',
    `curl ${reachable(url)}/v1/agents/${demo.agent}/chat \\`,
    `  -H "Authorization: Bearer $(cat ${shellQuoted(demo.keyPath)})" \\`,
    `  -H "Idempotency-Key: my-first-message" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d ${shellQuoted(JSON.stringify(body))}`,
    '',
  ].join('\n')
}

/** A wildcard listen address (0.0.0.0 or ::) cannot be called, so it is replaced with the loopback address. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]')
}

/** Quotes a word for a POSIX shell if it needs quotes. */
function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
