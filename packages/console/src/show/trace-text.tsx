/** One text of a trace: JSON with indentation, the start of a long one until all of it is requested. Texts stay text. */
import { Anchor, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { writeCount } from './measures.ts'
import classes from './trace.module.css'

// About a screen. A browser lays out more text than this noticeably later when many of them are shown.
const shownAtFirst = 2_000

type TraceTextProps = { label: string; heading?: ReactNode; text: string; code?: boolean }

/** `label` names the text for screen readers. `heading` is shown above it; without one, the label is. */
export function TraceText({ label, heading, text, code = false }: TraceTextProps) {
  const [isWhole, setWhole] = useState(false)
  const written = code ? readable(text) : text
  const isCut = !isWhole && written.length > shownAtFirst * 1.5
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs">
        <Text size="xs" c="dimmed" component="div" className="as-written">
          {heading ?? label}
        </Text>
        {isCut ? (
          <Anchor component="button" type="button" size="xs" onClick={() => setWhole(true)} aria-label={`Show all of ${label}`}>
            Show all {writeCount(written.length)} characters
          </Anchor>
        ) : null}
      </Group>
      <div className={`${classes['text']} as-written`} data-code={code ? '' : undefined} tabIndex={0} role="region" aria-label={label}>
        {isCut ? `${written.slice(0, shownAtFirst).toWellFormed()}…` : written}
      </div>
    </Stack>
  )
}

function readable(text: string): string {
  // Parsing a longer text would block the page.
  if (text.length > 100_000) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
