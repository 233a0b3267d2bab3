/** H12: no caller sees text of another tenant, and none sees text of a prompt, a document, a tool or reasoning (`tools.private`). Pure. */
import type { Reading, Violation } from './reading.ts'

export function* checkCanaries({ tenants, tries, aboutTurns, conversations, models }: Reading): Generator<Violation> {
  const tenantOf = new Map(tenants.flatMap((tenant) => tenant.keys.map(({ name }) => [name, tenant] as const)))
  const hidden = tenants.flatMap((tenant) => Object.values(tenant.hidden))

  /** Forbidden texts that were found; those in `own` are allowed. */
  function found(text: string, own: string | undefined, secrets: string[]): string | undefined {
    const foreign = tenants.filter(({ name }) => name !== own).map(({ canary }) => canary)
    return [...secrets, ...foreign].find((word) => text.includes(word))
  }

  for (const { call, answer, events } of [...tries, ...aboutTurns]) {
    if (!answer) continue
    const text = [...Object.values(answer.headers), answer.body ?? '', ...(answer.events ?? []).map(({ data }) => data)].join('\n')
    // A word may be split over several pieces of a stream.
    const said = (answer.events ?? []).map(({ data }) => deltaOf(data)).join('')
    const word = found(`${text}\n${said}`, tenantOf.get(call.key)?.name, hidden)
    if (word !== undefined) yield { check: 'H12', what: `an answer to ${call.key} has the word ${word}`, events }
  }
  for (const { key, messages, index } of conversations) {
    const word = found(messages.map(({ content }) => content).join('\n'), tenantOf.get(key)?.name, hidden)
    if (word !== undefined) yield { check: 'H12', what: `a conversation of ${key} has the word ${word}`, events: [index] }
  }
  for (const { message, messages, index } of models) {
    const own = tenants.find(({ canary }) => message.split(' ')[1] === canary)
    const word = found(messages.map(({ content }) => content ?? '').join('\n'), own?.name, [])
    if (word !== undefined) yield { check: 'H12', what: `a prompt of ${own?.name} has the word ${word}`, events: [index] }
  }
}

const deltaOf = (data: string): string => {
  const [, text = ''] = /^\{"delta":"(.*)"\}$/s.exec(data) ?? []
  return text
}
