/** What `turnkeep chat` says of a turn in plain words: what it cost, why there is no reply, and the command that mends it. */
import type { Fields } from '../admin-api/client.ts'
import { visible } from '../terminal/table.ts'
import type { Sent } from './send-message.ts'
import type { Cost, Talk } from './talk.ts'

/** A text of a model or a person as it may be put on a terminal: its lines stay, a tab is blanks, all else that moves the cursor is written out. */
export const readable = (text: string): string => visible(text.replaceAll('\r\n', '\n').replaceAll('\t', '    '), true)

/** `0.00022620 USD · 604 + 226 tokens · 0.9 s, first text 0.2 s · tools: lookup` */
export function costLine({ chargedUsd, promptTokens, completionTokens, seconds, firstTextSeconds, tools }: Cost): string {
  const times = [
    ...(seconds === undefined ? [] : [`${seconds.toFixed(1)} s`]),
    ...(firstTextSeconds === undefined ? [] : [`first text ${firstTextSeconds.toFixed(1)} s`]),
  ]
  const called = tools.length > 0 ? [`tools: ${tools.map((name) => visible(name)).join(', ')}`] : []
  const tokens = `${promptTokens.toLocaleString('en-US')} + ${completionTokens.toLocaleString('en-US')} tokens`
  return [`${chargedUsd} USD`, tokens, times.join(', '), ...called].join(' · ')
}

/** Why there is no reply, and what mends it. */
export async function whyNot(sent: Exclude<Sent, { kind: 'completed' | 'stopped' }>, talk: Talk): Promise<string> {
  if (sent.kind === 'unreachable')
    return `No reply: ${sent.why}. The message may have been taken; if it was, it is answered and charged once.`
  const { agentId, agent } = talk
  const turn = sent.requestId === undefined ? 'see the server’s log' : `npx turnkeep turn show ${visible(sent.requestId)}`
  switch (sent.code) {
    case 'insufficient_balance': {
      const owner = await talk.owner().catch((): Fields => ({}))
      const left = owner['available_usd'] === undefined ? '' : ` (${String(owner['available_usd'])} USD available)`
      return `The owner’s balance cannot cover a reply${left}; nothing was charged. Top it up:\n  npx turnkeep ledger add ${String(agent['owner_id'])} 10.00`
    }
    case 'agent_disabled':
      return `The agent is switched off. Switch it on:\n  npx turnkeep agent enable ${agentId}`
    case 'agent_not_found':
    case 'not_found':
      return 'The agent is no longer there: it was deleted. npx turnkeep agent list shows the others.'
    case 'internal_error':
      return `This message failed, and nothing was charged. Why:\n  ${turn}`
    case 'unauthorized':
      return 'The server does not take the admin token any more: set TURNKEEP_ADMIN_TOKEN to its present one.'
    default:
      return `${readable(sent.message)} (${visible(sent.code)}${sent.requestId === undefined ? '' : `, request ${visible(sent.requestId)}`})`
  }
}
