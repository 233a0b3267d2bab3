/**
 * Serves one agent on stdin and stdout. A call is sent again with its Idempotency-Key when the connection is lost or the server restarts, so it
 * is answered and charged once (`mcp.idempotency-key`).
 */
import { randomUUID } from 'node:crypto'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { readEvent } from '../../../packages/client/src/wire.ts'
import type { CommandRun } from '../command-run.ts'
import { createAgentServer } from '../../mcp/agent-server.ts'
import type { CallListener } from '../../mcp/agent-server.ts'
import type { ToolCall, ToolOutcome } from '../../mcp/agent-tool.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { cleanLines } from './clean-lines.ts'
import { sendMessage } from '../chat/send-message.ts'
import type { Sent } from '../chat/send-message.ts'
import { readVersion } from '../terminal/own-version.ts'
import { tell } from '../terminal/print.ts'

// A client shows progress to a person, and gives up on a call after 60 s without it.
const progressMs = 2_000

export function serveAgent(run: CommandRun, client: AdminClient, agent: Fields, user: string): void {
  const report = (error: unknown): void => tell(run, `MCP: ${error instanceof Error ? error.message : String(error)}`)
  const options = {
    version: readVersion(),
    agentName: String(agent['name']),
    defaultExternalUserId: user,
    call: (call: ToolCall, listener: CallListener) => send(run, client, String(agent['id']), call, listener),
    onError: report,
    progressMs,
  }
  const transport = new StdioServerTransport(run.stdin.pipe(cleanLines()), run.stdout)
  serveStdio(() => createAgentServer(options), { onerror: report, transport })
}

async function send(
  run: CommandRun,
  client: AdminClient,
  agentId: string,
  { message: text, externalUserId, idempotencyKey = randomUUID() }: ToolCall,
  { progress, signal }: CallListener,
): Promise<ToolOutcome> {
  const listener = {
    created: () => progress.started(),
    piece: (piece: string) => progress.text(piece),
    reset: () => progress.reset(),
    waits: (why: string, seconds: number) => tell(run, `${why}: retrying in ${seconds} s`),
  }
  return outcomeOf(await sendMessage(client, { agentId, externalUserId, text, idempotencyKey }, listener, signal), idempotencyKey)
}

function outcomeOf(sent: Sent, idempotencyKey: string): ToolOutcome {
  switch (sent.kind) {
    case 'completed': {
      const completed = readEvent('response.completed', sent.completed)
      if (!completed || completed === 'ignored' || completed.type !== 'response.completed')
        throw new Error('the server sent a reply that is not complete')
      const { requestId, conversationId, message, usage } = completed
      const reply = { content: message.content, requestId, conversationId, usage, incomplete: Boolean(message.incomplete) }
      return { kind: 'replied', reply }
    }
    case 'refused':
      return { ...sent, kind: 'failed', idempotencyKey }
    case 'unreachable':
      return { kind: 'failed', code: 'unreachable', message: `No reply: ${sent.why}.`, idempotencyKey }
    case 'stopped':
      // No one receives this.
      return { kind: 'failed', code: 'cancelled', message: 'The call was cancelled. A turn that has started continues.', idempotencyKey }
  }
}
