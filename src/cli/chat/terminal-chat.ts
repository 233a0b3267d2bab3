/**
 * The interactive chat: shows the agent, its price and the balance, then streams a reply and its cost for each message until the user
 * quits.
 */
import { randomUUID } from 'node:crypto'
import { styleText } from 'node:util'
import { isFields } from '../admin-api/client.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
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

const { stdout } = process
const dim = (text: string): string => styleText('dim', text, { stream: stdout })
const tell = (text: string): void => void stdout.write(`${text.split('\n').map(dim).join('\n')}\n`)
const tellThenBlank = (text: string): void => {
  tell(text)
  stdout.write('\n')
}
const width = (): number => stdout.columns || 80
// At the start only a reminder of the conversation is shown: fewer messages than /history, cut to this length.
const [shownAtStart, shownOnAsking, maxAtStart] = [6, 50, 240]

/** `newEndUser` returns the end user of a new conversation. Resolves when the user quits. */
export async function chatAtTerminal(talk: Talk, newEndUser: () => string): Promise<void> {
  await greet(talk)
  const input = openLineInput(tell)
  try {
    for (;;) {
      const text = await input.ask()
      if (text === undefined) return void stdout.write('\n')
      const words = text.trim()
      if (words === '/exit' || words === '/quit') return
      if (words === '') continue
      const stopping = new AbortController()
      const { signal } = stopping
      talk.signal = signal
      input.onInterrupt(() => stopping.abort())
      const isCommand = words.startsWith('/') && !words.includes('\n')
      await (isCommand ? runChatCommand(words, talk, newEndUser) : say(text, talk, signal)).catch((error) => tellFailure(error, signal))
      input.onInterrupt(undefined)
    }
  } finally {
    input.close()
  }
}

async function greet(talk: Talk): Promise<void> {
  const { agent } = talk
  const price = isFields(agent['price']) ? agent['price'] : {}
  const short = (usd: unknown): string => String(usd).replace(/(\.\d\d\d*?)0+$/, '$1')
  const owner = await talk.owner()
  stdout.write(
    `${styleText('bold', escapeForTerminal(String(agent['name'])), { stream: stdout })} ${dim(`(${talk.agentId}) · ${escapeForTerminal(String(agent['model']))}`)}\n`,
  )
  tell(
    `${short(price['prompt_usd_per_million'])} USD per million prompt tokens, ${short(price['completion_usd_per_million'])} USD per million completion tokens`,
  )
  tell(
    `Owner ${escapeForTerminal(String(owner['name']))}, ${String(owner['available_usd'])} USD available · end user ${escapeForTerminal(talk.externalUserId)} · /help for commands`,
  )
  if (agent['enabled'] === false) tell(`The agent is disabled. To enable it: npx turnkeep agent enable ${talk.agentId}`)
  const said = await talk.lastSaid(shownAtStart)
  if (said.length > 0) stdout.write('\n')
  for (const one of said) showSaid(one, maxAtStart)
  stdout.write('\n')
}

function showSaid({ role, content }: Said, most = Infinity): void {
  const text = content.length > most ? `${[...content].slice(0, most).join('')}…` : content
  let lines = ''
  const wrap = new WordWrap(width, (piece) => (lines += piece))
  wrap.push(`${role === 'user' ? '› ' : ''}${text}`)
  wrap.end()
  tell(lines.trimEnd())
}

async function runChatCommand(word: string, talk: Talk, newEndUser: () => string): Promise<void> {
  switch (word) {
    case '/help':
      return tell(help.join('\n'))
    case '/history': {
      const said = await talk.lastSaid(shownOnAsking)
      if (said.length === 0) tell('No messages yet.')
      return said.forEach((one) => showSaid(one))
    }
    case '/cost': {
      const { turns, usd, tokens, running } = await talk.sum()
      const owner = await talk.owner()
      tell(`This session: ${usd} USD · ${turns} ${turns === 1 ? 'reply' : 'replies'} · ${tokens.toLocaleString('en-US')} tokens`)
      if (running > 0) tell(`${running} still running`)
      return tell(`Available:    ${String(owner['available_usd'])} USD (owner ${escapeForTerminal(String(owner['name']))})`)
    }
    case '/new':
      talk.externalUserId = newEndUser()
      return tell(`Started a new conversation. To return to it later: --user ${escapeForTerminal(talk.externalUserId)}`)
    default:
      return tell(`Unknown command: ${escapeForTerminal(word)}\n${help.join('\n')}`)
  }
}

/** Sends a message and streams its reply. All attempts share one Idempotency-Key, so the message is answered and charged once. */
async function say(text: string, talk: Talk, signal: AbortSignal): Promise<void> {
  const wrap = new WordWrap(width, (piece) => stdout.write(piece))
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
        tell('The turn ran again and returned a different reply:')
      },
      waits(why, seconds) {
        wrap.pause()
        tell(`${why}: retrying in ${seconds} s (Ctrl-C to cancel)`)
      },
    },
    signal,
  )
  wrap.end()
  switch (sent.kind) {
    case 'completed': {
      const cost = await talk.cost(String(sent.completed['request_id']))
      return tellThenBlank(cost ? costLine(cost) : 'The cost of this reply is not available.')
    }
    case 'stopped':
      if (requestId === undefined) return tellThenBlank('Stopped. If the server accepted the message, it is answered and charged once.')
      talk.leave(requestId)
      return tellThenBlank(
        `Stopped waiting. The turn continues, and is stored and charged. To see it: npx turnkeep turn show ${escapeForTerminal(requestId)}`,
      )
    default:
      return void stdout.write(`${styleText('red', await whyNot(sent, talk), { stream: stdout })}\n\n`)
  }
}

function tellFailure(error: unknown, signal: AbortSignal): void {
  if (!(error instanceof CommandFailed)) throw error
  if (signal.aborted) return tellThenBlank('Stopped.')
  stdout.write(`${styleText('red', readable(error.message), { stream: stdout })}\n`)
}
