/** One step of the setup: a line that opens it, with its result. After a button of the previous step, the line has the focus. */
import { Box, Group, Paper, Text, Title, UnstyledButton } from '@mantine/core'
import { useEffect, useId, useRef } from 'react'
import type { ReactNode } from 'react'
import { IconCheck } from '@tabler/icons-react'

type WalkStepProps = {
  number: number
  title: string
  /** Its result; nothing until it is done. */
  summary?: string | false | null | undefined
  /** False: something that it needs is missing. */
  reachable?: boolean
  /** Its input is kept while another step is open. */
  keep?: boolean
  opened: boolean
  /** Whether the previous step has just led here. */
  focused?: boolean
  onOpen: () => void
  children?: ReactNode
}

export function WalkStep({
  number,
  title,
  summary,
  reachable = true,
  keep = false,
  opened,
  focused = false,
  onOpen,
  children,
}: WalkStepProps) {
  const id = useId()
  const line = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (focused) line.current?.focus()
  }, [focused])
  const done = Boolean(summary)
  return (
    <Paper component="li" withBorder p="md" aria-current={opened ? 'step' : undefined}>
      <Title order={2} size="h4">
        <UnstyledButton
          ref={line}
          className="walk-line"
          w="100%"
          disabled={!reachable}
          aria-expanded={opened}
          aria-controls={opened ? id : undefined}
          onClick={onOpen}
        >
          <Group gap="sm" wrap="nowrap">
            <span className="walk-mark" data-done={done || undefined} aria-hidden="true">
              {done ? <IconCheck size={16} aria-hidden="true" /> : number}
            </span>
            <span>
              <span className="for-readers-only">Step {number}: </span>
              {title}{' '}
              {done ? (
                <Text span size="sm" c="dimmed" ml="xs" className="as-written">
                  <span className="for-readers-only">completed: </span>
                  {summary}
                </Text>
              ) : null}
            </span>
          </Group>
        </UnstyledButton>
      </Title>
      {reachable && (opened || keep) ? (
        <Box id={id} hidden={!opened} mt="md">
          {children}
        </Box>
      ) : null}
    </Paper>
  )
}
