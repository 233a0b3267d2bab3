/**
 * The interactive chat: shows the agent, its price and the balance, then streams a reply and its cost for each message until the user
 * quits.
 */
import { randomUUID } from 'node:crypto'
import { isFields } from '../admin-api/client.ts'
import type { CommandRun } from '../command-run.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { styled } from '../terminal/style.ts'
import { escapeForTerminal } from '../terminal/table.ts'
import { costLine, readable, whyNot } from './chat-words.ts'
import { openLineInput } from './line-input.ts'
import { sendMessage } from './send-message.ts'
import type { Said, Talk } from './talk.ts'
import { WordWrap } from './word-wrap.ts'

const help = [
  '/history  Show the messages of this conversation',
  '/cost     Show the cost of this session and the balance of the owner',
  '/new      Start a new conversation',
  '/exit     Quit (or press Ctrl-D)',
  'To send several lines, end a line with a backslash, or paste them.',
  'Ctrl-C stops waiting for a reply; the turn continues and is charged.',
]

const dim = (run: CommandRun, text: string): string => styled(run, 'dim', text)
const tell = (run: CommandRun, text: string): void =>
  void run.stdout.write(
    `${text
      .split('\n')
      .map((line) => dim(run, line))
      .join('\n')}\n`,
  )
const tellThenBlank = (run: CommandRun, text: string): void => {
  tell(run, text)
  run.stdout.write('\n')
}
const openWrap = ({ stdout }: CommandRun, write: (piece: string) => void): WordWrap => new WordWrap(() => stdout.columns || 80, write)
// At the start only a reminder of the conversation is shown: fewer messages than /history, cut to this length.
const [shownAtStart, shownOnAsking, maxAtStart] = [6, 50, 240]

/** `newEndUser` returns the end user of a new conversation. Resolves when the user quits. */
export async function chatAtTerminal(run: CommandRun, talk: Talk, newEndUser: () => string): Promise<void> {
  await greet(run, talk)
  const input = openLineInput(run, (text) => tell(run, text))
  try {
    for (;;) {
      const text = await input.ask()
      if (text === undefined) return void run.stdout.write('\n')
      const words = text.trim()
      if (words === '/exit' || words === '/quit') return
      if (words === '') continue
      const stopping = new AbortController()
      const { signal } = stopping
      talk.signal = signal
      input.onInterrupt(() => stopping.abort())
      const isCommand = words.startsWith('/') && !words.includes('\n')
      await (isCommand ? runChatCommand(run, words, talk, newEndUser) : say(run, text, talk, signal)).catch((error) =>
        tellFailure(run, error, signal),
      )
      input.onInterrupt(undefined)
    }
  } finally {
    input.close()
  }
}

async function greet(run: CommandRun, talk: Talk): Promise<void> {
  const { agent } = talk
  const price = isFields(agent['price']) ? agent['price'] : {}
  const short = (usd: unknown): string => String(usd).replace(/(\.\d\d\d*?)0+$/, '$1')
  const owner = await talk.owner()
  run.stdout.write(
    `${styled(run, 'bold', escapeForTerminal(String(agent['name'])))} ${dim(run, `(${talk.agentId}) · ${escapeForTerminal(String(agent['model']))}`)}\n`,
  )
  tell(
    run,
    `${short(price['prompt_usd_per_million'])} USD per million prompt tokens, ${short(price['completion_usd_per_million'])} USD per million completion tokens`,
  )
  tell(
    run,
    `Owner ${escapeForTerminal(String(owner['name']))}, ${String(owner['available_usd'])} USD available · end user ${escapeForTerminal(talk.externalUserId)} · /help for commands`,
  )
  if (agent['enabled'] === false) tell(run, `The agent is disabled. To enable it: npx --no-install turnkeep agent enable ${talk.agentId}`)
  const said = await talk.lastSaid(shownAtStart)
  if (said.length > 0) run.stdout.write('\n')
  for (const one of said) showSaid(run, one, maxAtStart)
  run.stdout.write('\n')
}

function showSaid(run: CommandRun, { role, content }: Said, most = Infinity): void {
  const text = content.length > most ? `${[...content].slice(0, most).join('')}…` : content
  let lines = ''
  const wrap = openWrap(run, (piece) => (lines += piece))
  wrap.push(`${role === 'user' ? '› ' : ''}${text}`)
  wrap.end()
  tell(run, lines.trimEnd())
}

async function runChatCommand(run: CommandRun, word: string, talk: Talk, newEndUser: () => string): Promise<void> {
  switch (word) {
    case '/help':
      return tell(run, help.join('\n'))
    case '/history': {
      const said = await talk.lastSaid(shownOnAsking)
      if (said.length === 0) tell(run, 'No messages yet.')
      return said.forEach((one) => showSaid(run, one))
    }
    case '/cost': {
      const { turns, usd, tokens, running } = await talk.sum()
      const owner = await talk.owner()
      tell(run, `This session: ${usd} USD · ${turns} ${turns === 1 ? 'reply' : 'replies'} · ${tokens.toLocaleString('en-US')} tokens`)
      if (running > 0) tell(run, `${running} still running`)
      return tell(run, `Available:    ${String(owner['available_usd'])} USD (owner ${escapeForTerminal(String(owner['name']))})`)
    }
    case '/new':
      talk.externalUserId = newEndUser()
      return tell(run, `Started a new conversation. To return to it later: --user ${escapeForTerminal(talk.externalUserId)}`)
    default:
      return tell(run, `Unknown command: ${escapeForTerminal(word)}\n${help.join('\n')}`)
  }
}

/** Sends a message and streams its reply. All attempts share one Idempotency-Key, so the message is answered and charged once. */
async function say(run: CommandRun, text: string, talk: Talk, signal: AbortSignal): Promise<void> {
  const wrap = openWrap(run, (piece) => run.stdout.write(piece))
  let requestId: string | undefined
  const { agentId, externalUserId } = talk
  const message = { agentId, externalUserId, text, idempotencyKey: randomUUID() }
  const sent = await sendMessage(
    talk.client,
    message,
    {
      created: (id) => (requestId = id),
      piece: (piece) => wrap.push(piece),
      reset() {
        wrap.end()
        tell(run, 'The turn ran again and returned a different reply:')
      },
      waits(why, seconds) {
        wrap.pause()
        tell(run, `${why}: retrying in ${seconds} s (Ctrl-C to cancel)`)
      },
    },
    signal,
  )
  wrap.end()
  switch (sent.kind) {
    case 'completed': {
      const cost = await talk.cost(String(sent.completed['request_id']))
      return tellThenBlank(run, cost ? costLine(cost) : 'The cost of this reply is not available.')
    }
    case 'stopped':
      if (requestId === undefined)
        return tellThenBlank(run, 'Stopped. If the server accepted the message, it is answered and charged once.')
      talk.leave(requestId)
      return tellThenBlank(
        run,
        `Stopped waiting. The turn continues, and is stored and charged. To see it: npx --no-install turnkeep turn show ${escapeForTerminal(requestId)}`,
      )
    default:
      return void run.stdout.write(`${styled(run, 'red', await whyNot(sent, talk))}\n\n`)
  }
}

function tellFailure(run: CommandRun, error: unknown, signal: AbortSignal): void {
  if (!(error instanceof CommandFailed)) throw error
  if (signal.aborted) return tellThenBlank(run, 'Stopped.')
  run.stdout.write(`${styled(run, 'red', readable(error.message))}\n`)
}
