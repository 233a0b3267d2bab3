/**
 * Sample calls of the public API. They read the key from the environment, because it must not be in source code, a shell history or a
 * browser.
 */
import type { Key } from '../../api/types.ts'

export type Snippet = { id: string; label: string; text: string }

type Called = { apiUrl: string; agentId: string; permission: Key['permission'] }

/** Sets the key in a shell. The only text that contains the secret. */
export const exportLine = (apiKey: string): string => `export TURNKEEP_API_KEY='${apiKey}'`

/** Returns a list request for a read-only key, otherwise a message. */
export function snippetsFor({ apiUrl, agentId, permission }: Called): Snippet[] {
  const agent = `${apiUrl.replace(/\/+$/, '')}/v1/agents/${agentId}`
  const texts = permission === 'read-only' ? listing(`${agent}/conversations?limit=20`) : sending(`${agent}/chat`)
  return [
    { id: 'curl', label: 'curl', text: texts.curl },
    { id: 'typescript', label: 'TypeScript', text: texts.typescript },
    { id: 'python', label: 'Python', text: texts.python },
  ]
}

type Texts = { curl: string; typescript: string; python: string }

const sending = (url: string): Texts => ({
  curl: `# Sending the same Idempotency-Key again returns the same reply and is charged once. Use a new one for each message.
curl '${url}' \\
  -H "Authorization: Bearer $TURNKEEP_API_KEY" \\
  -H 'Idempotency-Key: first-message-1' \\
  -H 'Content-Type: application/json' \\
  -d '{"external_user_id": "customer-4711", "message": "Hello"}'`,
  typescript: `// Run this on a server: an API key must never reach a browser.
const response = await fetch('${url}', {
  method: 'POST',
  headers: {
    Authorization: \`Bearer \${process.env.TURNKEEP_API_KEY}\`,
    // One per message, created before the first attempt. Retries with the same key are charged once.
    'Idempotency-Key': crypto.randomUUID(),
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({ external_user_id: 'customer-4711', message: 'Hello' }),
  signal: AbortSignal.timeout(120_000),
})
const answer = await response.json()
if (!response.ok) throw new Error(\`\${answer.error.code}: \${answer.error.message} (\${answer.error.request_id})\`)
console.log(answer.message.content)`,
  python: `import json, os, urllib.error, urllib.request, uuid

request = urllib.request.Request(
    "${url}",
    data=json.dumps({"external_user_id": "customer-4711", "message": "Hello"}).encode(),
    headers={
        "Authorization": f"Bearer {os.environ['TURNKEEP_API_KEY']}",
        # One per message, created before the first attempt. Retries with the same key are charged once.
        "Idempotency-Key": str(uuid.uuid4()),
        "Content-Type": "application/json",
    },
)
try:
    with urllib.request.urlopen(request, timeout=120) as response:
        print(json.load(response)["message"]["content"])
except urllib.error.HTTPError as failure:
    raise SystemExit(failure.read().decode())`,
})

const listing = (url: string): Texts => ({
  curl: `curl '${url}' \\
  -H "Authorization: Bearer $TURNKEEP_API_KEY"`,
  typescript: `// Run this on a server: an API key must never reach a browser.
const response = await fetch('${url}', {
  headers: { Authorization: \`Bearer \${process.env.TURNKEEP_API_KEY}\` },
})
const answer = await response.json()
if (!response.ok) throw new Error(\`\${answer.error.code}: \${answer.error.message} (\${answer.error.request_id})\`)
console.log(answer.data)`,
  python: `import json, os, urllib.error, urllib.request

request = urllib.request.Request(
    "${url}",
    headers={"Authorization": f"Bearer {os.environ['TURNKEEP_API_KEY']}"},
)
try:
    with urllib.request.urlopen(request, timeout=30) as response:
        print(json.load(response)["data"])
except urllib.error.HTTPError as failure:
    raise SystemExit(failure.read().decode())`,
})
