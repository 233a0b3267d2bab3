/** The conversation at a terminal: who and what it costs first, then message, reply as it comes, one line of its cost, until somebody leaves. */
import { randomUUID } from 'node:crypto'
import { styleText } from 'node:util'
import { isFields } from '../admin-api/client.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { visible } from '../terminal/table.ts'
import { costLine, readable, whyNot } from './chat-words.ts'
import { openLineInput } from './line-input.ts'
import { sendMessage } from './send-message.ts'
import type { Said, Talk } from './talk.ts'
import { WordWrap } from './word-wrap.ts'

const help = [
  '/history  what was said in this conversation',
  '/cost     what this session cost, and what the owner has left',
  '/new      begin another conversation',
  '/exit     leave; so does Ctrl-D',
  'A backslash at the end of a line, or a paste, makes a message of several lines.',
  'Ctrl-C during a reply stops listening; the turn goes on and is charged.',
]

const { stdout } = process
const dim = (text: string): string => styleText('dim', text, { stream: stdout })
const tell = (text: string): void => void stdout.write(`${text.split('\n').map(dim).join('\n')}\n`)
const tellThenBlank = (text: string): void => {
  tell(text)
  stdout.write('\n')
}
const width = (): number => stdout.columns || 80
// Enough to remember where it stood; /history shows more.
const [shownAtStart, shownOnAsking, maxAtStart] = [6, 50, 240]

/** `nameAnew` answers the external user of a conversation of its own. Resolves when somebody leaves. */
export async function chatAtTerminal(talk: Talk, nameAnew: () => string): Promise<void> {
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
      await (isCommand ? obey(words, talk, nameAnew) : say(text, talk, signal)).catch((error) => tellFailure(error, signal))
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
    `${styleText('bold', visible(String(agent['name'])), { stream: stdout })} ${dim(`(${talk.agentId}) · ${visible(String(agent['model']))}`)}\n`,
  )
  tell(
    `${short(price['prompt_usd_per_million'])} USD for a million prompt tokens, ${short(price['completion_usd_per_million'])} for completion tokens`,
  )
  tell(
    `${visible(String(owner['name']))} pays, and has ${String(owner['available_usd'])} USD available · you are the external user "${visible(talk.externalUserId)}" · /help`,
  )
  if (agent['enabled'] === false) tell(`The agent is switched off: npx turnkeep agent enable ${talk.agentId}`)
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

async function obey(word: string, talk: Talk, nameAnew: () => string): Promise<void> {
  switch (word) {
    case '/help':
      return tell(help.join('\n'))
    case '/history': {
      const said = await talk.lastSaid(shownOnAsking)
      if (said.length === 0) tell('Nothing was said yet.')
      return said.forEach((one) => showSaid(one))
    }
    case '/cost': {
      const { turns, usd, tokens, running } = await talk.sum()
      const owner = await talk.owner()
      tell(`this session: ${usd} USD · ${turns} ${turns === 1 ? 'reply' : 'replies'} · ${tokens.toLocaleString('en-US')} tokens`)
      if (running > 0) tell(`${running} still running`)
      return tell(`available:    ${String(owner['available_usd'])} USD of ${visible(String(owner['name']))}`)
    }
    case '/new':
      talk.externalUserId = nameAnew()
      return tell(`Another conversation, of the external user "${visible(talk.externalUserId)}" (--user comes back to it).`)
    default:
      return tell(`There is no ${visible(word)}.\n${help.join('\n')}`)
  }
}

/** Answered and charged once, whatever breaks: one key for all its attempts. */
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
        tell('The turn was run anew and says something else; from the beginning:')
      },
      waits(why, seconds) {
        wrap.pause()
        tell(`${why}: waiting ${seconds} s (Ctrl-C stops)`)
      },
    },
    signal,
  )
  wrap.end()
  switch (sent.kind) {
    case 'completed': {
      const cost = await talk.cost(String(sent.completed['request_id']))
      return tellThenBlank(cost ? costLine(cost) : 'Replied; what it cost is not known.')
    }
    case 'stopped':
      if (requestId === undefined) return tellThenBlank('Stopped. If the message was taken, it is answered and charged once.')
      talk.leave(requestId)
      return tellThenBlank(`Stopped listening. The turn goes on, is stored and charged: npx turnkeep turn show ${visible(requestId)}`)
    default:
      return void stdout.write(`${styleText('red', await whyNot(sent, talk), { stream: stdout })}\n\n`)
  }
}

function tellFailure(error: unknown, signal: AbortSignal): void {
  if (!(error instanceof CommandFailed)) throw error
  if (signal.aborted) return tellThenBlank('Stopped.')
  stdout.write(`${styleText('red', readable(error.message), { stream: stdout })}\n`)
}
