/** One turn for a program or a pipe: the reply alone on stdout, everything else on stderr. On a terminal the reply is shown as it comes. */
import { CommandFailed } from '../terminal/command-failed.ts'
import { printRecord, tell, write } from '../terminal/print.ts'
import { visible } from '../terminal/table.ts'
import { costLine, whyNot } from './chat-words.ts'
import { contentOf, sendMessage } from './send-message.ts'
import type { Talk } from './talk.ts'
import { WordWrap } from './word-wrap.ts'

export type OneMessage = { text: string; idempotencyKey: string; json: boolean }

/** Throws CommandFailed: 1 where the API refuses, 2 where it could not be reached. */
export async function sayOnce(talk: Talk, { text, idempotencyKey, json }: OneMessage): Promise<void> {
  const stopping = new AbortController()
  const stop = (): void => stopping.abort()
  process.once('SIGINT', stop)
  // What a program reads cannot be taken back: it gets the reply when it is whole.
  const streamed = process.stdout.isTTY && !json
  const wrap = new WordWrap(
    () => process.stdout.columns || 80,
    (piece) => process.stdout.write(piece),
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
        tell('The turn was run anew and says something else; from the beginning:')
      },
      waits: (why, seconds) => tell(`${why}: waiting ${seconds} s`),
    },
    stopping.signal,
  )
  process.off('SIGINT', stop)
  if (sent.kind === 'stopped') {
    const which = requestId === undefined ? '' : ` (npx turnkeep turn show ${visible(requestId)})`
    throw new CommandFailed(
      2,
      `stopped: a turn that has begun goes on and is charged${which}; its reply: --idempotency-key ${idempotencyKey}`,
    )
  }
  if (sent.kind !== 'completed') {
    const again = `The same message with --idempotency-key ${idempotencyKey} is answered and charged once.`
    throw new CommandFailed(sent.kind === 'refused' ? 1 : 2, `${await whyNot(sent, talk)}${sent.kind === 'refused' ? '' : `\n${again}`}`)
  }
  if (json) return printRecord(sent.completed, { json })
  if (streamed) wrap.end()
  else await write(`${contentOf(sent.completed)}\n`)
  const cost = await talk.cost(String(sent.completed['request_id']))
  if (cost) tell(costLine(cost))
}
