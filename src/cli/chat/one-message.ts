/**
 * Sends one message for a script or a pipe: only the reply goes to stdout, everything else to stderr. On a terminal the reply is streamed.
 */
import { CommandFailed } from '../terminal/command-failed.ts'
import type { CommandRun } from '../command-run.ts'
import { printRecord, tell, write } from '../terminal/print.ts'
import { escapeForTerminal } from '../terminal/table.ts'
import { costLine, whyNot } from './chat-words.ts'
import { contentOf, sendMessage } from './send-message.ts'
import type { Talk } from './talk.ts'
import { WordWrap } from './word-wrap.ts'

export type OneMessage = { text: string; idempotencyKey: string; json: boolean }

/** Throws CommandFailed: 1 if the API returns an error, 2 if it cannot be reached or the user cancels. */
export async function sayOnce(run: CommandRun, talk: Talk, { text, idempotencyKey, json }: OneMessage): Promise<void> {
  const stopping = new AbortController()
  const { stdout } = run
  const ignoreInterrupt = run.onInterrupt(() => stopping.abort())
  // Output to a program cannot be corrected later, so it gets only the complete reply.
  const streamed = stdout.isTTY && !json
  const wrap = new WordWrap(
    () => stdout.columns || 80,
    (piece) => stdout.write(piece),
  )
  let requestId: string | undefined
  const { agentId, externalUserId } = talk
  const sent = await sendMessage(
    talk.client,
    { agentId, externalUserId, text, idempotencyKey },
    {
      created: (id) => (requestId = id),
      piece: (piece) => streamed && wrap.push(piece),
      reset() {
        if (!streamed) return
        wrap.end()
        tell(run, 'The turn ran again and returned a different reply:')
      },
      waits: (why, seconds) => tell(run, `${why}: retrying in ${seconds} s`),
    },
    stopping.signal,
  )
  ignoreInterrupt()
  if (sent.kind === 'stopped') {
    const which = requestId === undefined ? '' : ` (npx --no-install turnkeep turn show ${escapeForTerminal(requestId)})`
    throw new CommandFailed(
      2,
      `canceled. A turn that has started continues and is charged${which}. To get its reply, add --idempotency-key ${idempotencyKey}`,
    )
  }
  if (sent.kind !== 'completed') {
    const again = `To retry safely, send the same message with --idempotency-key ${idempotencyKey}: it is answered and charged once.`
    throw new CommandFailed(sent.kind === 'refused' ? 1 : 2, `${await whyNot(sent, talk)}${sent.kind === 'refused' ? '' : `\n${again}`}`)
  }
  if (json) return printRecord(run, sent.completed, { json })
  if (streamed) wrap.end()
  else await write(run, `${contentOf(sent.completed)}\n`)
  const cost = await talk.cost(String(sent.completed['request_id']))
  if (cost) tell(run, costLine(cost))
}
