/** What a person reads at every start: where to look, and one command to paste. Holds no secret: the command reads the key's file. */

export type StartLines = { url: string; adminUrl: string; demo: { agentId: string; keyPath: string } | undefined }

export function startLines({ url, adminUrl, demo }: StartLines): string {
  const lines = ['Turnkeep is ready.', '', `  console  ${reachable(adminUrl)}/console`, `  docs     ${reachable(url)}/docs`, '']
  if (!demo) return lines.join('\n')
  const body = { external_user_id: 'you', message: 'What happens when I send the same Idempotency-Key twice?' }
  return [
    ...lines,
    'Paste this twice: the second time brings the same reply again, without a call of the model and without a charge.',
    '',
    `curl ${reachable(url)}/v1/agents/${demo.agentId}/chat \\`,
    `  -H "Authorization: Bearer $(cat ${shellQuoted(demo.keyPath)})" \\`,
    `  -H "Idempotency-Key: my-first-message" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d ${shellQuoted(JSON.stringify(body))}`,
    '',
  ].join('\n')
}

/** An address to listen on everywhere is none to call: this machine's own stands for it. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]')
}

/** One word of a POSIX shell, in quotes only where it needs them. */
function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
