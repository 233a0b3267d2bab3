/**
 * Generates sample requests in curl, TypeScript and Python for an endpoint of the API description. They read the agent and the key from the
 * variables AGENT_ID and API_KEY, not TURNKEEP_…, because a server started in the same shell would reject those as unknown settings.
 */
import { exampleOf } from './api-document.ts'
import type { Endpoint } from './api-document.ts'
import { inPython, inShell, inTypescript, pythonLiteral, typescriptLiteral } from './sample-literals.ts'
import type { Language, Samples } from './sample-literals.ts'
import { turnSamples } from './turn-samples.ts'

export type { Language, Samples }

export function samplesOf(baseUrl: string, endpoint: Endpoint): Samples {
  const url = `${baseUrl}${endpoint.path}`
  if (endpoint.path.includes('{request_id}')) return turnSamples(url, endpoint, endpoint.requestBody && bodyOf(endpoint))
  // The turn that the sample of a message has started.
  const key = endpoint.parameters.find(({ name }) => name === 'idempotency_key')
  if (key) return turnSamples(`${url}?idempotency_key=${key.example}`, endpoint, undefined)
  if (endpoint.method === 'GET') return listing(`${url}?limit=20`)
  const request = { url, body: bodyOf(endpoint), key: keyOf(endpoint) }
  return endpoint.operationId.startsWith('stream') ? streaming(request) : sending(request)
}

/** Returns code for the section about retries, which sends a message until the answer is final. */
export function retrySamples(baseUrl: string, endpoint: Endpoint): Samples {
  const { url, body, key } = { url: `${baseUrl}${endpoint.path}`, body: bodyOf(endpoint), key: keyOf(endpoint) }
  return {
    sh: curl({ url, body, key }, '--fail-with-body --retry 8 --retry-all-errors --max-time 120 '),
    typescript: `// Retries with the same key after a broken connection and whenever there is a Retry-After. Other errors are final.
async function send(body: object, idempotencyKey: string): Promise<any> {
  for (let tries = 1; ; tries++) {
    const response = await fetch(\`${inTypescript(url)}\`, {
      method: 'POST',
      headers: {
        Authorization: \`Bearer \${process.env.API_KEY}\`,
        'Idempotency-Key': idempotencyKey,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(120_000),
    }).catch(() => undefined)
    if (response?.ok) return response.json()
    const seconds = response ? response.headers.get('retry-after') : '2'
    if (seconds === null || tries === 60) throw new Error(response ? await response.text() : 'Could not connect.')
    await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1000))
  }
}

const answer = await send(${typescriptLiteral(body)}, '${key}')
console.log(answer.message.content)`,
    python: `import json, os, time, urllib.error, urllib.request

# Retries with the same key after a broken connection and whenever there is a Retry-After. Other errors are final.
def send(body, idempotency_key):
    request = urllib.request.Request(
        f"${inPython(url)}",
        headers={
            "Authorization": f"Bearer {os.environ['API_KEY']}",
            "Idempotency-Key": idempotency_key,
            "Content-Type": "application/json",
        },
        data=json.dumps(body).encode(),
    )
    for _ in range(60):
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            seconds = error.headers.get("Retry-After")
            if seconds is None:
                raise RuntimeError(error.read().decode())
        except OSError:
            seconds = 2
        time.sleep(int(seconds))
    raise RuntimeError("No response")

answer = send(${pythonLiteral(body)}, "${key}")
print(answer["message"]["content"])`,
  }
}

/** For the section about clients: the client libraries, and for the shell a generated key with curl's retries. */
export const clientSamples = (baseUrl: string): Samples => ({
  sh: `KEY=$(cat /proc/sys/kernel/random/uuid) # one per message, reused for every retry
curl --fail-with-body --retry 8 --retry-all-errors --max-time 120 ${baseUrl}/v1/agents/$AGENT_ID/chat \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Idempotency-Key: $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"external_user_id":"user-42","message":"Hello"}'`,
  typescript: `import { Turnkeep } from '@turnkeep/client'

const client = new Turnkeep({
  baseURL: '${baseUrl}',
  agentId: process.env.AGENT_ID!,
  apiKey: process.env.API_KEY!,
})
// The id of the message in your own database is a good key, because it also survives a crash of your process.
const reply = await client.chat({ externalUserId: 'user-42', message: 'Hello' }, { idempotencyKey: 'message-4711' })
console.log(reply.message.content)

for await (const event of client.stream({ externalUserId: 'user-42', message: 'And then?' }))
  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta)`,
  python: `import os
from turnkeep import Delta, Turnkeep

client = Turnkeep(
    base_url="${baseUrl}",
    agent_id=os.environ["AGENT_ID"],
    api_key=os.environ["API_KEY"],
)
# The id of the message in your own database is a good key, because it also survives a crash of your process.
reply = client.chat(external_user_id="user-42", message="Hello", idempotency_key="message-4712")
print(reply.message.content)

with client.stream(external_user_id="user-42", message="And then?") as stream:
    for event in stream:
        if isinstance(event, Delta):
            print(event.delta, end="", flush=True)`,
})

type Sending = { url: string; body: Record<string, unknown>; key: string }

function sending(request: Sending): Samples {
  return {
    sh: curl(request),
    typescript: `${fetching(request)}
const answer: any = await response.json()
if (!response.ok) throw new Error(\`\${answer.error.code}: \${answer.error.message}\`)
console.log(answer.message.content, answer.usage.charged_usd)`,
    python: `${opening(request)}
with urllib.request.urlopen(request, timeout=120) as response:
    answer = json.load(response)
print(answer["message"]["content"], answer["usage"]["charged_usd"])`,
  }
}

function streaming(request: Sending): Samples {
  return {
    sh: curl(request, '-N '),
    typescript: `${fetching(request)}
if (!response.ok) throw new Error(await response.text()) // an error before the stream started: JSON with its status

let rest = ''
for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
  const blocks = (rest + chunk).split('\\n\\n')
  rest = blocks.pop()!
  for (const block of blocks) {
    const event = /^event: (.*)$/m.exec(block)?.[1]
    if (event === undefined) continue // a comment that keeps the connection open
    const data = JSON.parse(/^data: (.*)$/m.exec(block)![1])
    if (event === 'response.output_text.delta') process.stdout.write(data.delta)
    if (event === 'response.completed') console.log('\\n', data.usage) // data.message.content is the whole text
    if (event === 'error') throw new Error(\`\${data.code}: \${data.message}\`)
  }
}`,
    python: `${opening(request)}
with urllib.request.urlopen(request, timeout=120) as response:
    for line in response:
        line = line.decode().rstrip("\\n")
        if line.startswith("event: "):
            event = line[7:]
        elif line.startswith("data: "):
            data = json.loads(line[6:])
            if event == "response.output_text.delta":
                print(data["delta"], end="", flush=True)
            elif event == "response.completed":
                print("\\n", data["usage"])  # data["message"]["content"] is the whole text
            elif event == "error":
                raise RuntimeError(f"{data['code']}: {data['message']}")`,
  }
}

function listing(url: string): Samples {
  return {
    sh: `curl "${inShell(url)}" \\
  -H "Authorization: Bearer $API_KEY"`,
    typescript: `const response = await fetch(\`${inTypescript(url)}\`, {
  headers: { Authorization: \`Bearer \${process.env.API_KEY}\` },
})
const page: any = await response.json()
if (!response.ok) throw new Error(\`\${page.error.code}: \${page.error.message}\`)
for (const item of page.data) console.log(item)
// For the next page, add &cursor= and encodeURIComponent(page.next_cursor), until next_cursor is null.`,
    python: `import json, os, urllib.request

request = urllib.request.Request(
    f"${inPython(url)}",
    headers={"Authorization": f"Bearer {os.environ['API_KEY']}"},
)
with urllib.request.urlopen(request) as response:
    page = json.load(response)
for item in page["data"]:
    print(item)
# For the next page, add &cursor= and urllib.parse.quote(page["next_cursor"]), until next_cursor is None.`,
  }
}

const curl = ({ url, body, key }: Sending, options = ''): string => `curl ${options}${inShell(url)} \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Idempotency-Key: ${key}" \\
  -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body)}'`

const fetching = ({ url, body }: Sending): string => `const response = await fetch(\`${inTypescript(url)}\`, {
  method: 'POST',
  headers: {
    Authorization: \`Bearer \${process.env.API_KEY}\`,
    'Idempotency-Key': crypto.randomUUID(), // one per message, reused for every retry
    'Content-Type': 'application/json',
  },
  body: JSON.stringify(${typescriptLiteral(body)}),
  signal: AbortSignal.timeout(120_000),
})`

const opening = ({ url, body }: Sending): string => `import json, os, urllib.request, uuid

request = urllib.request.Request(
    f"${inPython(url)}",
    headers={
        "Authorization": f"Bearer {os.environ['API_KEY']}",
        "Idempotency-Key": str(uuid.uuid4()),  # one per message, reused for every retry
        "Content-Type": "application/json",
    },
    data=json.dumps(${pythonLiteral(body)}).encode(),
)`

function bodyOf({ requestBody }: Endpoint): Record<string, unknown> {
  const { properties = {} } = requestBody!.content['application/json']!.schema
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, exampleOf(schema)]))
}

/** The streaming sample uses a different key than the `/chat` sample, because it would otherwise be a replay. */
function keyOf({ operationId, parameters }: Endpoint): string {
  const example = parameters.find(({ name }) => name === 'Idempotency-Key')?.example ?? 'my-first-message'
  return operationId.startsWith('stream') ? example.replace(/\d+$/, (number) => String(Number(number) + 1)) : example
}
