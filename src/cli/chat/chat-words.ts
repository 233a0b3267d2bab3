/** The texts of `turnkeep chat` about a turn: its cost, or why there is no reply and which command fixes that. */
import type { Fields } from '../admin-api/client.ts'
import { escapeForTerminal } from '../terminal/table.ts'
import type { Sent } from './send-message.ts'
import type { Cost, Talk } from './talk.ts'

/**
 * Makes the text of a model or a user safe for a terminal: keeps line breaks, expands tabs, and escapes everything else that moves the
 * cursor.
 */
export const readable = (text: string): string => escapeForTerminal(text.replaceAll('\r\n', '\n').replaceAll('\t', '    '), true)

/** `0.00022620 USD · 604 prompt + 226 completion tokens · 0.9 s, first token 0.2 s · tools: lookup` */
export function costLine({ chargedUsd, promptTokens, completionTokens, seconds, firstTextSeconds, tools, cutOff }: Cost): string {
  const times = [
    ...(seconds === undefined ? [] : [`${seconds.toFixed(1)} s`]),
    ...(firstTextSeconds === undefined ? [] : [`first token ${firstTextSeconds.toFixed(1)} s`]),
  ]
  const called = tools.length > 0 ? [`tools: ${tools.map((name) => escapeForTerminal(name)).join(', ')}`] : []
  const tokens = `${promptTokens.toLocaleString('en-US')} prompt + ${completionTokens.toLocaleString('en-US')} completion tokens`
  return [`${chargedUsd} USD`, tokens, times.join(', '), ...called, ...(cutOff === undefined ? [] : [cutOff])].join(' · ')
}

/** `1.20 USD available: balance 5.00 USD, 0.30 USD held by running turns, 3.50 USD unpaid` */
const availability = (owner: Fields): string =>
  `${String(owner['available_usd'])} USD available: balance ${String(owner['balance_usd'])} USD, ${String(owner['held_usd'])} USD held by running turns, ${String(owner['unpaid_usd'])} USD unpaid`

/** Returns why there is no reply, and how to fix it. */
export async function whyNot(sent: Exclude<Sent, { kind: 'completed' | 'stopped' }>, talk: Talk): Promise<string> {
  if (sent.kind === 'unreachable') return `No reply: ${sent.why}. If the server accepted the message, it is answered and charged once.`
  const { agentId, agent } = talk
  const turn =
    sent.requestId === undefined
      ? 'check the log of the server'
      : `npx --no-install turnkeep turn show ${escapeForTerminal(sent.requestId)}`
  switch (sent.code) {
    case 'insufficient_balance': {
      const owner = await talk.owner().catch((): Fields => ({}))
      const left = owner['available_usd'] === undefined ? '' : ` (${availability(owner)})`
      return `The owner’s available balance cannot cover a reply${left}; nothing was charged. To add funds:\n  npx --no-install turnkeep ledger add ${String(agent['owner_id'])} 10.00`
    }
    case 'spend_limit_exceeded':
      return `A spend limit does not allow a reply now; nothing was charged. To see the limits:\n  npx --no-install turnkeep limit list ${agentId}`
    case 'agent_disabled':
      return `The agent is disabled. To enable it:\n  npx --no-install turnkeep agent enable ${agentId}`
    case 'agent_not_found':
    case 'not_found':
      return 'The agent was deleted. To list agents: npx --no-install turnkeep agent list'
    case 'internal_error':
      return `The turn failed, and nothing was charged. To see why:\n  ${turn}`
    case 'unauthorized':
      return 'The server no longer accepts the admin token. Set TURNKEEP_ADMIN_TOKEN to the current one.'
    default:
      return `${readable(sent.message)} (${escapeForTerminal(sent.code)}${sent.requestId === undefined ? '' : `, request ${escapeForTerminal(sent.requestId)}`})`
  }
}
