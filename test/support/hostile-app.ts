/** A house in which every text that anybody may write is one that a careless page would execute: `hostile` in each field that takes it. */
import { startScriptedMcp, tool } from './mcp-scripted-server.ts'
import { startTestApp } from './test-app.ts'
import type { TestApp } from './test-app.ts'
import { startToolServer } from './tool-server.ts'

/**
 * Short enough for a name. What it would do is seen in `window.__xss`; what it would load, by where the request goes; U+202E turns around
 * what follows it.
 */
export const hostile = `\u202e<img src=x onerror="__xss=1"><script>__xss=2</script>"'><svg onload=__xss=3> [a](javascript:__xss=4)`
/** For texts that are shown as Markdown too. */
export const hostileMarkdown = `${hostile}

[link](javascript:__xss=5) [data](data:text/html,<script>parent.__xss=6</script>) [far](//elsewhere.example/x) [vb](vbscript:x)
![picture](https://elsewhere.example/seen.png) ![picture](javascript:__xss=7) <javascript:__xss=8> <https://elsewhere.example/auto>
<iframe src="javascript:parent.__xss=9"></iframe><form action="https://elsewhere.example"><button>press</button></form>
[reference][r] <style>body{background:url(https://elsewhere.example/style)}</style><base href="https://elsewhere.example/">

[r]: javascript:__xss=10

| ${hostile} | b |
|---|---|
| <a href="javascript:__xss=11" onmouseover="__xss=12">a</a> | \`${hostile}\` |

\`\`\`<script>__xss=13</script>
${hostile}
\`\`\`
`

export type HostileApp = { adminUrl: string; app: TestApp; conversationId: string; close(): Promise<void> }

export async function openHostileApp(): Promise<HostileApp> {
  const mcp = await startScriptedMcp({ tools: [tool('look', { description: hostileMarkdown })] })
  const tools = await startToolServer()
  tools.when('/tool', { body: hostileMarkdown })
  const app = await startTestApp({
    env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: `${tools.address},${mcp.host}:${mcp.port}` },
    key: { name: hostile },
    agent: { name: hostile, system_prompt: hostileMarkdown },
  })
  const fixture = {
    adminUrl: app.adminUrl,
    app,
    async close() {
      await app.close()
      await Promise.all([tools.close(), mcp.close()])
    },
  }
  try {
    return { ...fixture, conversationId: await fill(app, { toolUrl: `${tools.baseUrl}/tool`, mcpUrl: mcp.url }) }
  } catch (error) {
    await fixture.close()
    throw error
  }
}

/** Resolves with the conversation's id. */
async function fill(app: TestApp, { toolUrl, mcpUrl }: { toolUrl: string; mcpUrl: string }): Promise<string> {
  const { agentId, ownerId } = app.caller
  await app.made('PATCH', `/owners/${ownerId}`, { name: hostile })
  await app.made('POST', `/owners/${ownerId}/ledger`, { amount_usd: '1', note: hostile }, { 'idempotency-key': 'hostile' })
  const parameters = { type: 'object', properties: { x: { type: 'string', description: hostile } } }
  await app.made('PATCH', `/agents/${agentId}`, {
    tools: [
      { type: 'http', name: 'tool', description: hostileMarkdown, parameters, method: 'POST', url: toolUrl, side_effects: false },
      { type: 'mcp', name: 'server', url: mcpUrl },
    ],
  })
  const document = await app.made('POST', `/agents/${agentId}/documents`, {
    title: hostile,
    text: `# ${hostile}\n\n${hostileMarkdown} parcel`,
  })
  await app.made('POST', `/agents/${agentId}/documents`, { url: 'https://nobody.invalid/', title: hostile })
  const readied = async (): Promise<string> => (await app.made('GET', `/agents/${agentId}/documents/${document.id}`)).status
  while (['queued', 'indexing'].includes(await readied())) await new Promise((resolve) => setTimeout(resolve, 50))

  const call = { toolCall: { id: 'c1', name: 'tool', arguments: JSON.stringify({ x: hostile }) } }
  app.model.script([call], [hostileMarkdown])
  await app.chat(`parcel ${hostileMarkdown}`, { user: hostile })
  app.model.script({ status: 400, body: { error: { message: hostile } } })
  await app.chat('and again', { user: hostile })
  // What the page itself asks for.
  app.model.when('say it again', [hostileMarkdown.slice(0, 40), hostileMarkdown.slice(40)])
  app.model.when((asked) => asked.messages.length === 1, { status: 401, body: { error: { message: hostile } } })
  const { data } = await app.made('GET', `/conversations?agent_id=${agentId}`)
  return data[0].id
}
