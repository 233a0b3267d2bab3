/** A running turn: its text as it is generated, and the button that cancels it. The parent shows what the cancel did. */
import { Box, Group, Stack, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useFollowedTurn } from '../api/turns.ts'
import type { useCancel } from '../api/turns.ts'
import { useFollowEnd } from './follow-end.ts'
import { Markdown } from './markdown.tsx'
import { pacedText } from './paced-text.ts'
import type { PacedText } from './paced-text.ts'
import { CancelButton } from './cancel-turn.tsx'

// Some lines of text, and less than the list on a phone.
const textHeight = 180

export function LiveTurn({ requestId, cancel }: { requestId: string; cancel: ReturnType<typeof useCancel> }) {
  const text = useLiveText(requestId)
  const { ref, onScroll } = useFollowEnd()
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Text size="sm" role="status">
          {text === '' ? 'The agent is working on the reply.' : 'The agent is replying.'}
        </Text>
        <CancelButton requestId={requestId} cancel={cancel} />
      </Group>
      {/* Of one height, so that the row does not grow out of view. */}
      <Box
        component="section"
        aria-label="Reply so far"
        aria-busy
        tabIndex={0}
        ref={ref}
        onScroll={onScroll}
        h={textHeight}
        p="xs"
        bd="1px solid var(--mantine-color-default-border)"
        bdrs="md"
        style={{ overflowY: 'auto' }}
      >
        {text === '' ? (
          <Text size="sm" c="dimmed">
            No text yet.
          </Text>
        ) : (
          <Markdown text={text} />
        )}
      </Box>
    </Stack>
  )
}

/** The text of a running turn so far. When the turn ends, what contains it is loaded again. */
export function useLiveText(requestId: string): string {
  const queries = useQueryClient()
  const [text, setText] = useState('')
  const paced = useRef<PacedText>(null)
  useEffect(() => () => void paced.current?.end(), [])
  useFollowedTurn(requestId, (event) => {
    switch (event.type) {
      case 'response.created':
      case 'response.output_text.reset':
        paced.current?.end()
        paced.current = pacedText(setText)
        return setText('')
      case 'response.output_text.delta':
        paced.current ??= pacedText(setText)
        return paced.current.add(event.delta)
      case 'response.completed':
      case 'error':
        for (const noun of ['turns', 'conversations']) void queries.invalidateQueries({ queryKey: [noun] })
    }
  })
  return text
}
