/**
 * The rows of the transcript. Only visible rows are rendered, so ten thousand messages are as fast as ten. The newest is at the end and
 * shown first; older pages are added at the top while the reader's position stays. A focused row stays rendered.
 */
import { Box } from '@mantine/core'
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual'
import type { Range } from '@tanstack/react-virtual'
import { useCallback, useEffect, useLayoutEffect, useRef } from 'react'
import { MessageBar } from './message-bar.tsx'
import { MessageRow } from './message-row.tsx'
import type { useCancel } from '../../api/turns.ts'
import type { Row } from './transcript-rows.ts'
import { TurnRow } from './turn-row.tsx'
import { useFocusedRow } from './use-focused-row.ts'
import type { Messages } from './use-messages.ts'

type MessageListProps = {
  rows: Row[]
  messages: Messages
  user: string
  agentId: string | undefined
  cancel: ReturnType<typeof useCancel>
}

// A short question or the beginning of a reply. Each row is measured when it is rendered.
const likelyHeight = 160
// The space below the heading and the facts, so that the newest line is visible without scrolling; on a phone a large half of it.
const height = 'max(22rem, calc(100dvh - 23rem))'
// Rows rendered beyond either edge.
const overscan = 6
// At this distance from the top the next page is requested, before its rows are needed.
const nearTheTop = 10
// The end, for a reader of the last line.
const nearTheEndPx = 80

/** There is at least one row. */
export function MessageList({ rows, messages, user, agentId, cancel }: MessageListProps) {
  const scroller = useRef<HTMLElement>(null)
  const isAtEnd = useRef(true)
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
  const lastKey = rows.at(-1)!.key
  useLayoutEffect(() => {
    if (isAtEnd.current) list.scrollToEnd()
  }, [list, lastKey])
  const first = list.range?.startIndex ?? rows.length
  const { hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = messages
  useEffect(() => {
    if (first < nearTheTop && hasNextPage && !isFetching && !isFetchNextPageError) void fetchNextPage()
  }, [first, hasNextPage, isFetching, isFetchNextPageError, fetchNextPage])
  const jump = (to: 'oldest' | 'newest'): void => {
    if (to === 'oldest') list.scrollToIndex(0, { align: 'start' })
    else list.scrollToEnd()
    scroller.current?.focus({ preventScroll: true })
  }
  return (
    <Box>
      <h2 className="for-readers-only">Messages</h2>
      <MessageBar messages={messages} onJump={jump} />
      <Box
        component="section"
        ref={scroller}
        aria-label="Messages"
        tabIndex={0}
        h={height}
        style={{ overflowY: 'auto', overflowX: 'hidden', overflowAnchor: 'none' }}
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
              aria-label={labelOf(rows[index]!, user)}
              aria-posinset={index + 1}
              aria-setsize={hasNextPage ? -1 : rows.length}
              style={{
                position: 'absolute',
                insetInline: 0,
                top: 0,
                transform: `translateY(${start}px)`,
                paddingBlockEnd: 16,
                paddingInlineEnd: 8,
              }}
            >
              <RowOf row={rows[index]!} user={user} agentId={agentId} cancel={cancel} />
            </article>
          ))}
        </div>
      </Box>
    </Box>
  )
}

function labelOf(row: Row, user: string): string {
  if (row.kind === 'turn') return 'Turn without a reply'
  return row.message.role === 'user' ? `Message from ${user}` : 'Reply'
}

type RowProps = { row: Row } & Pick<MessageListProps, 'user' | 'agentId' | 'cancel'>

function RowOf({ row, user, agentId, cancel }: RowProps) {
  switch (row.kind) {
    case 'message':
      return <MessageRow message={row.message} user={user} agentId={agentId} />
    case 'turn':
      return <TurnRow turn={row.turn} cancel={cancel} />
  }
}

function withFocused(indexes: number[], focused: number, count: number): number[] {
  if (focused < 0 || focused >= count || indexes.includes(focused)) return indexes
  return [...indexes, focused].toSorted((a, b) => a - b)
}
