/** Generates sample requests for the operations on a turn, which is named by the variable REQUEST_ID. See samples.ts. */
import type { Endpoint } from './api-document.ts'
import { inPython, inShell, inTypescript, pythonLiteral, typescriptLiteral } from './sample-literals.ts'
import type { Samples } from './sample-literals.ts'

/** An operation on a turn, which needs no Idempotency-Key. */
export function turnSamples(url: string, { operationId, method }: Endpoint, body: Record<string, unknown> | undefined): Samples {
  if (operationId.startsWith('stream')) return following(url)
  const [shell, typescript, python] = body
    ? [
        ` \\\n  -H "Content-Type: application/json" \\\n  -d '${JSON.stringify(body)}'`,
        `, 'Content-Type': 'application/json' },\n  body: JSON.stringify(${typescriptLiteral(body)})`,
        `, "Content-Type": "application/json"},\n    data=json.dumps(${pythonLiteral(body)}).encode()`,
      ]
    : ['', ' }', '}']
  return {
    sh: `curl${method === 'GET' ? '' : ` -X ${method}`} ${quoted(inShell(url))} \\
  -H "Authorization: Bearer $API_KEY"${shell}`,
    typescript: `const response = await fetch(\`${inTypescript(url)}\`, {
  method: '${method}',
  headers: { Authorization: \`Bearer \${process.env.API_KEY}\`${typescript},
})
const answer: any = await response.json()
if (!response.ok) throw new Error(\`\${answer.error.code}: \${answer.error.message}\`)
console.log(answer)`,
    python: `import json, os, urllib.request

request = urllib.request.Request(
    f"${inPython(url)}",
    method="${method}",
    headers={"Authorization": f"Bearer {os.environ['API_KEY']}"${python},
)
with urllib.request.urlopen(request) as response:
    print(json.load(response))`,
  }
}

/** A shell may read a question mark as a pattern. */
const quoted = (url: string): string => (url.includes('?') ? `"${url}"` : url)

function following(url: string): Samples {
  return {
    sh: `# LAST_EVENT_ID is the ID of the last event that arrived; without the header, the stream starts at the beginning.
curl -N ${inShell(url)} \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Last-Event-ID: $LAST_EVENT_ID"`,
    typescript: `// The id of the last event that arrived. Without the header, the stream starts at the beginning.
const lastEventId = process.env.LAST_EVENT_ID
const response = await fetch(\`${inTypescript(url)}\`, {
  headers: { Authorization: \`Bearer \${process.env.API_KEY}\`, ...(lastEventId ? { 'Last-Event-ID': lastEventId } : {}) },
})
if (!response.ok) throw new Error(await response.text())
for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) process.stdout.write(chunk)`,
    python: `import os, urllib.request

# The id of the last event that arrived. Without the header, the stream starts at the beginning.
last_event_id = os.environ.get("LAST_EVENT_ID")
request = urllib.request.Request(
    f"${inPython(url)}",
    headers={"Authorization": f"Bearer {os.environ['API_KEY']}", **({"Last-Event-ID": last_event_id} if last_event_id else {})},
)
with urllib.request.urlopen(request, timeout=120) as response:
    for line in response:
        print(line.decode(), end="", flush=True)`,
  }
}
