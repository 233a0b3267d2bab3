/** The rows of a transcript, oldest first: messages, and between them the turns without messages. Pure. */
import type { Message, Turn } from '../../api/types.ts'

/** `day`: the day in the viewer's time zone, of the first row of each day. `tookMs`: from the message to its reply. */
export type Row = { key: string; at: string; requestId: string; day: string | null } & (
  | { kind: 'message'; message: Message; tookMs: number | null }
  | { kind: 'turn'; turn: Turn }
)

/** `newestFirst` as the server returns it. `more`: older messages are not loaded yet, and older turns wait for them. */
export function rowsOf(newestFirst: Message[], turns: Turn[], more: boolean): Row[] {
  const messages = newestFirst.toReversed().map((message, index, all): Row => {
    const { id: key, created_at: at, request_id: requestId, role } = message
    const asked = role === 'assistant' && index > 0 && all[index - 1]!.request_id === requestId ? all[index - 1] : undefined
    const tookMs = asked ? Date.parse(at) - Date.parse(asked.created_at) : null
    return { key, at, requestId, day: null, kind: 'message', message, tookMs }
  })
  const oldest = messages[0]?.at
  const answered = new Set(newestFirst.map(({ request_id: id }) => id))
  const between = turns
    .filter(({ request_id: id, created_at: at }) => !answered.has(id) && (!more || oldest === undefined || at >= oldest))
    .map((turn): Row => ({ key: turn.request_id, at: turn.created_at, requestId: turn.request_id, day: null, kind: 'turn', turn }))
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))
  return withDays(merge(messages, between))
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

const dayOf = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' })

/** Formats a date only where the day may have changed: ten thousand formats would take longer than a frame. */
function withDays(rows: Row[]): Row[] {
  let midnight = -Infinity
  return rows.map((row) => {
    const at = new Date(row.at)
    if (at.getTime() < midnight) return row
    midnight = new Date(at.getFullYear(), at.getMonth(), at.getDate() + 1).getTime()
    return { ...row, day: dayOf.format(at) }
  })
}

/** The row that a search found in a turn: the one with the text, otherwise the last one of the turn. -1 if it is not loaded. */
export function indexOfTurn(rows: Row[], requestId: string, pattern: RegExp | null): number {
  const withText = pattern
    ? rows.findIndex((row) => row.requestId === requestId && row.kind === 'message' && row.message.content.search(pattern) >= 0)
    : -1
  return withText >= 0 ? withText : rows.findLastIndex((row) => row.requestId === requestId)
}
