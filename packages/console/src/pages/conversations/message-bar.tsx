/** Above a transcript: how much of it is loaded, and buttons to its beginning and its end. */
import { Button, Group, Text } from '@mantine/core'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { FailureNote } from '../../show/failure-note.tsx'
import { writeCount } from '../../show/measures.ts'
import type { Messages } from './use-messages.ts'

export function MessageBar({ messages, onJump }: { messages: Messages; onJump: (to: 'oldest' | 'newest') => void }) {
  const { data, hasNextPage, isFetchingNextPage, isFetchNextPageError, error, fetchNextPage } = messages
  const { reading, readAll, stop } = useReadAll(messages, () => onJump('oldest'))
  const loaded = data?.pages.reduce((sum, page) => sum + page.data.length, 0) ?? 0
  return (
    <>
      <Group gap="xs" mb="xs" justify="space-between">
        <Text size="sm" c="dimmed" component="output">
          {loaded === 0
            ? 'No messages stored'
            : hasNextPage
              ? `Newest ${writeCount(loaded)} messages loaded`
              : `All ${writeCount(loaded)} messages loaded`}
        </Text>
        <Group gap="xs">
          {reading ? (
            <Button size="compact-sm" variant="default" onClick={stop}>
              Stop loading
            </Button>
          ) : (
            <Button size="compact-sm" variant="default" onClick={readAll}>
              Jump to oldest
            </Button>
          )}
          {hasNextPage ? (
            <Button size="compact-sm" variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              Load older messages
            </Button>
          ) : null}
          <Button size="compact-sm" variant="default" onClick={() => onJump('newest')}>
            Jump to newest
          </Button>
        </Group>
      </Group>
      {isFetchNextPageError ? (
        <FailureNote error={error} title="Could not load older messages" onRetry={() => void fetchNextPage()} />
      ) : null}
    </>
  )
}

/** Loads page after page until the first message, because the API has no access to the beginning. */
function useReadAll({ hasNextPage, fetchNextPage }: Messages, onArrived: () => void) {
  const [reading, setReading] = useState(false)
  const stopped = useRef(false)
  const [arrived, setArrived] = useState(0)
  const arrive = useEffectEvent(onArrived)
  // After the rows of the last page have been rendered.
  useEffect(() => {
    if (arrived > 0) arrive()
  }, [arrived])
  useEffect(
    () => () => {
      stopped.current = true
    },
    [],
  )
  const readAll = async (): Promise<void> => {
    stopped.current = false
    setReading(true)
    let more = hasNextPage
    while (more && !stopped.current) {
      const page = await fetchNextPage()
      if (page.isError) stopped.current = true
      more = page.hasNextPage
    }
    setReading(false)
    if (!stopped.current) setArrived((times) => times + 1)
  }
  const stop = (): void => {
    stopped.current = true
  }
  return { reading, readAll: () => void readAll(), stop }
}
