/** The rows of a transcript, oldest first: messages, and between them the turns without messages. Pure. */
import type { Message, Turn } from '../../api/types.ts'

export type Row = { key: string; at: string } & ({ kind: 'message'; message: Message } | { kind: 'turn'; turn: Turn })

/** `newestFirst` as the server returns it. `more`: older messages are not loaded yet, and older turns wait for them. */
export function rowsOf(newestFirst: Message[], turns: Turn[], more: boolean): Row[] {
  const messages = newestFirst.toReversed().map((message): Row => ({ key: message.id, at: message.created_at, kind: 'message', message }))
  const oldest = messages[0]?.at
  const answered = new Set(newestFirst.map(({ request_id: id }) => id))
  const between = turns
    .filter(({ request_id: id, created_at: at }) => !answered.has(id) && (!more || oldest === undefined || at >= oldest))
    .map((turn): Row => ({ key: turn.request_id, at: turn.created_at, kind: 'turn', turn }))
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))
  return merge(messages, between)
}

/** Messages keep the server's order, because two of them may have the same time. */
function merge(messages: Row[], turns: Row[]): Row[] {
  const rows: Row[] = []
  let next = 0
  for (const message of messages) {
    while (next < turns.length && turns[next]!.at < message.at) rows.push(turns[next++]!)
    rows.push(message)
  }
  return [...rows, ...turns.slice(next)]
}
