/**
 * What must be true of the stored data when a scenario is over: its number of turns, charges and messages, and what callers received. Pure.
 */
import type { Found } from './scenario-fixture.ts'
import type { Completed, Scenario, Stored } from './scenario-file.ts'

export function checkStored({ stored }: Scenario, found: Found, reported: Completed[]): string[] {
  const counts = (['turns', 'charges', 'messages'] satisfies (keyof Stored)[]).flatMap((what) =>
    found[what] === stored[what] ? [] : [`${found[what]} ${what} are stored, not ${stored[what]}`],
  )
  return [...counts, ...reported.flatMap((reply) => checkReported(reply, found))]
}

/** The reply is in the history once, after the message that it answers, and was charged as it says. */
function checkReported({ request_id: requestId, message, usage }: Completed, { texts, chargesUsd }: Found): string[] {
  const [asked, answered, ...more] = texts.filter((text) => text.requestId === requestId)
  const sound = more.length === 0 && asked?.role === 'user' && answered?.role === 'assistant'
  return [
    ...(sound && answered.id === message.id && answered.content === message.content
      ? []
      : ['the history does not contain the reply exactly once']),
    ...(chargesUsd.includes(usage.charged_usd) ? [] : [`no charge of ${usage.charged_usd} is in the ledger`]),
  ]
}
