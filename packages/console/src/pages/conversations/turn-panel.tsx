/** The turn that is open beside its conversation: figures, failure, feedback and trace. Loaded when a turn is first opened. */
import { ActionIcon, Anchor, Group, Stack, Title } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { TurnDetails } from '../../show/turn-details.tsx'
import { TurnTrace } from '../../show/turn-trace.tsx'

/** `takesFocus`: a person has opened it, with a key or the pointer. */
type TurnPanelProps = { requestId: string; takesFocus: boolean; onClose: () => void }

export function TurnPanel({ requestId, takesFocus, onClose }: TurnPanelProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (takesFocus) heading.current?.focus()
  }, [requestId, takesFocus])
  return (
    <Stack
      component="section"
      gap="md"
      p="md"
      aria-label="Turn"
      onKeyDown={({ key }) => {
        if (key === 'Escape') onClose()
      }}
    >
      <Group justify="space-between" wrap="nowrap">
        <Title order={2} size="h4" tabIndex={-1} ref={heading}>
          Turn
        </Title>
        <Group gap="sm" wrap="nowrap">
          <Anchor component={Link} href={`/turns/${segment(requestId)}`} size="sm">
            Open full page
          </Anchor>
          <ActionIcon variant="subtle" color="gray" aria-label="Close turn" onClick={onClose}>
            <IconX size={16} stroke={1.8} aria-hidden="true" />
          </ActionIcon>
        </Group>
      </Group>
      <TurnDetails requestId={requestId} withSteps={false} />
      <TurnTrace requestId={requestId} />
    </Stack>
  )
}
