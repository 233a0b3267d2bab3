/**
 * The message input. Enter and Ctrl+Enter send, Shift+Enter adds a line, Escape cancels, and Enter that selects a word of an input method does
 * none of it.
 */
import { Button, Text, Textarea } from '@mantine/core'
import { IconArrowUp, IconPlayerStopFilled } from '@tabler/icons-react'
import type { KeyboardEvent, ReactNode, RefObject } from 'react'
import classes from './composer.module.css'

type MessageBoxProps = {
  text: string
  placeholder: string
  /** What sending costs. */
  hint: ReactNode
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

export function MessageBox({ text, placeholder, hint, onChange, onSend, onStop, reading, stopping, longest, box }: MessageBoxProps) {
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
    <div className={classes['composer']}>
      <Textarea
        ref={box}
        aria-label="Message"
        placeholder={placeholder}
        value={text}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
        onKeyDown={onKeyDown}
        autosize
        minRows={1}
        maxRows={8}
        aria-keyshortcuts="Enter Control+Enter"
        aria-invalid={tooLong}
        aria-describedby="message-hint"
      />
      <div className={classes['foot']}>
        <div className={classes['hint']} id="message-hint">
          {tooLong ? (
            <Text size="xs" c="var(--mantine-color-error)" role="alert">
              The message has {length.toLocaleString()} characters; this agent accepts up to {longest.toLocaleString()}.
            </Text>
          ) : length > longest * 0.8 ? (
            `${length.toLocaleString()} of ${longest.toLocaleString()} characters`
          ) : (
            hint
          )}
        </div>
        {reading ? (
          <Button
            size="sm"
            variant="default"
            loading={stopping}
            onClick={onStop}
            leftSection={<IconPlayerStopFilled size={14} aria-hidden="true" />}
            aria-keyshortcuts="Escape"
          >
            Cancel
          </Button>
        ) : null}
        <Button size="sm" disabled={!ready} onClick={onSend} leftSection={<IconArrowUp size={16} aria-hidden="true" />}>
          Send
        </Button>
      </div>
    </div>
  )
}

/** Safari reports 229 for the Enter that ends a composition, after it has reported the end of the composition. */
const isComposing = ({ nativeEvent }: KeyboardEvent): boolean => nativeEvent.isComposing || nativeEvent.keyCode === 229
