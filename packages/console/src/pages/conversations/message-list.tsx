/**
 * The rows of the transcript. Only visible rows are rendered, so ten thousand messages are as fast as ten. The newest is at the end and
 * shown first; older pages are added at the top while the reader's position stays. A focused row stays rendered.
 */
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual'
import type { Range } from '@tanstack/react-virtual'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef } from 'react'
import type { useCancel } from '../../api/turns.ts'
import { patternOf } from '../../show/find-text.ts'
import style from './chat.module.css'
import { MessageBar } from './message-bar.tsx'
import { MessageRow } from './message-row.tsx'
import type { Row } from './transcript-rows.ts'
import { TurnRow } from './turn-row.tsx'
import { useArrival } from './use-arrival.ts'
import { useFocusedRow } from './use-focused-row.ts'
import { useHighlights } from './use-highlights.ts'
import type { Messages } from './use-messages.ts'
import { useWalk } from './use-walk.ts'

/** `openTurn`: the turn beside the list. `wanted`: a text to mark. */
type MessageListProps = {
  rows: Row[]
  messages: Messages
  user: string
  agentId: string | undefined
  cancel: ReturnType<typeof useCancel>
  openTurn: string | null
  wanted: string
  onOpen: (requestId: string) => void
  onFind: (text: string) => void
}

// A short question or the beginning of a reply. Each row is measured when it is rendered.
const likelyHeight = 130
// Rows rendered beyond either edge.
const overscan = 6
// At this distance from the top the next page is requested, before its rows are needed.
const nearTheTop = 10
// The end, for a reader of the last line.
const nearTheEndPx = 80

/** There is at least one row. */
export function MessageList({ rows, messages, user, agentId, cancel, openTurn, wanted, onOpen, onFind }: MessageListProps) {
  const scroller = useRef<HTMLElement>(null)
  const isAtEnd = useRef(openTurn === null)
  const focused = useFocusedRow(scroller)
  const focusedIndex = focused === null ? -1 : rows.findIndex(({ key }) => key === focused)
  // oxlint-disable-next-line react/incompatible-library -- the React compiler is not used; the library triggers each render
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey: useCallback((index: number) => rows[index]!.key, [rows]),
    estimateSize: () => likelyHeight,
    overscan,
    rangeExtractor: useCallback((range: Range) => withFocused(defaultRangeExtractor(range), focusedIndex, range.count), [focusedIndex]),
    initialOffset: () => rows.length * likelyHeight,
    anchorTo: 'end',
    // Never: a row that is expanded at the end grows downwards and stays in place.
    scrollEndThreshold: -1,
  })
  const pattern = useMemo(() => patternOf(wanted), [wanted])
  const isLooking = useArrival({
    rows,
    messages,
    requestId: openTurn,
    pattern,
    scrollTo: (index) => list.scrollToIndex(index, { align: 'center' }),
  })
  useHighlights(scroller, wanted)
  const lastKey = rows.at(-1)!.key
  useLayoutEffect(() => {
    if (isAtEnd.current) list.scrollToEnd()
  }, [list, lastKey])
  const first = list.range?.startIndex ?? rows.length
  const { hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = messages
  useEffect(() => {
    if (!isLooking && first < nearTheTop && hasNextPage && !isFetching && !isFetchNextPageError) void fetchNextPage()
  }, [isLooking, first, hasNextPage, isFetching, isFetchNextPageError, fetchNextPage])
  const jump = (to: 'oldest' | 'newest'): void => {
    if (to === 'oldest') list.scrollToIndex(0, { align: 'start' })
    else list.scrollToEnd()
    scroller.current?.focus({ preventScroll: true })
  }
  const matches = useMemo(() => matchesIn(rows, pattern), [rows, pattern])
  // Not its index, which changes when older messages are loaded.
  const matchKey = useRef<string>(null)
  const match = (step: 1 | -1): void => {
    const known = rows.findIndex(({ key }) => key === matchKey.current)
    const from = known === -1 ? rows.length : known
    const next = step === 1 ? matches?.find((index) => index > from) : matches?.findLast((index) => index < from)
    if (next === undefined) return
    matchKey.current = rows[next]!.key
    list.scrollToIndex(next, { align: 'center' })
  }
  const walk = useWalk({ scroller, rows, focusedIndex, onOpen, scrollTo: (index) => list.scrollToIndex(index, { align: 'auto' }) })
  return (
    <div className={style['chat']}>
      <h2 className="for-readers-only">Messages</h2>
      <MessageBar messages={messages} wanted={wanted} matches={matches?.length ?? null} onJump={jump} onFind={onFind} onMatch={match} />
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- it scrolls, and its keys go from message to message */}
      <section
        ref={scroller}
        aria-label="Messages"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, and its keys go from message to message
        tabIndex={0}
        className={style['scroller']}
        onKeyDown={walk}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < nearTheEndPx
        }}
      >
        <div role="feed" aria-busy={isFetching} style={{ height: list.getTotalSize(), position: 'relative' }}>
          {list.getVirtualItems().map(({ key, index, start }) => (
            <article
              key={key}
              ref={list.measureElement}
              data-index={index}
              data-key={key}
              tabIndex={-1}
              aria-label={labelOf(rows[index]!, user)}
              aria-posinset={index + 1}
              aria-setsize={hasNextPage ? -1 : rows.length}
              className={style['row']}
              style={{ transform: `translateY(${start}px)` }}
            >
              <div className={style['column']}>
                {rows[index]!.day === null ? null : <div className={style['day']}>{rows[index]!.day}</div>}
                <RowOf row={rows[index]!} agentId={agentId} cancel={cancel} openTurn={openTurn} onOpen={onOpen} />
              </div>
            </article>
          ))}
        </div>
      </section>
    </div>
  )
}

function labelOf(row: Row, user: string): string {
  if (row.kind === 'turn') return 'Turn without a reply'
  return row.message.role === 'user' ? `Message from ${user}` : 'Reply'
}

type RowProps = { row: Row } & Pick<MessageListProps, 'agentId' | 'cancel' | 'openTurn' | 'onOpen'>

function RowOf({ row, agentId, cancel, openTurn, onOpen }: RowProps) {
  const isOpen = row.requestId === openTurn
  switch (row.kind) {
    case 'message':
      return <MessageRow message={row.message} tookMs={row.tookMs} agentId={agentId} isOpen={isOpen} onOpen={onOpen} />
    case 'turn':
      return <TurnRow turn={row.turn} cancel={cancel} isOpen={isOpen} onOpen={onOpen} />
  }
}

/** The indexes of the messages that contain the text. */
const matchesIn = (rows: Row[], pattern: RegExp | null): number[] | null =>
  pattern && rows.flatMap((row, index) => (row.kind === 'message' && row.message.content.search(pattern) >= 0 ? [index] : []))

function withFocused(indexes: number[], focused: number, count: number): number[] {
  if (focused < 0 || focused >= count || indexes.includes(focused)) return indexes
  return [...indexes, focused].toSorted((a, b) => a - b)
}
