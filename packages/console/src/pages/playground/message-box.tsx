/** The message input: Enter sends, Shift+Enter adds a line, and Enter that selects a word of an input method does neither. */
import { Button, Group, Stack, Text, Textarea } from '@mantine/core'
import type { KeyboardEvent, RefObject } from 'react'

type MessageBoxProps = {
  text: string
  onChange(text: string): void
  onSend(): void
  onStop(): void
  reading: boolean
  /** The turn is being cancelled. */
  stopping: boolean
  /** In characters, as set for the agent. */
  longest: number
  box: RefObject<HTMLTextAreaElement | null>
}

export function MessageBox({ text, onChange, onSend, onStop, reading, stopping, longest, box }: MessageBoxProps) {
  // Characters as the server counts them.
  const length = text.length < longest / 2 ? text.length : Array.from(text).length
  const tooLong = length > longest
  const ready = !reading && !tooLong && text.trim() !== ''
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || isComposing(event)) return
    event.preventDefault()
    if (ready) onSend()
  }
  return (
    <Stack gap="xs">
      <Textarea
        ref={box}
        label="Message"
        description="Press Enter to send, Shift+Enter for a new line."
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        value={text}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
        onKeyDown={onKeyDown}
        autosize
        minRows={2}
        maxRows={10}
        error={
          tooLong
            ? `The message has ${length.toLocaleString()} characters; this agent accepts up to ${longest.toLocaleString()}.`
            : undefined
        }
      />
      <Group justify="space-between" gap="xs">
        <Text size="xs" c="dimmed" className="figures">
          {length > longest * 0.8 ? `${length.toLocaleString()} of ${longest.toLocaleString()} characters` : ''}
        </Text>
        <Group gap="xs">
          {reading ? (
            <Button variant="default" loading={stopping} onClick={onStop}>
              Stop
            </Button>
          ) : null}
          <Button disabled={!ready} onClick={onSend}>
            Send
          </Button>
        </Group>
      </Group>
    </Stack>
  )
}

/** Safari reports 229 for the Enter that ends a composition, after it has reported the end of the composition. */
const isComposing = ({ nativeEvent }: KeyboardEvent): boolean => nativeEvent.isComposing || nativeEvent.keyCode === 229
