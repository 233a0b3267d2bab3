/** Links a turn's request ID to its trace. */
import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'

export function TurnLink({ requestId }: { requestId: string }) {
  const mayOpen = useMay('conversations')
  const short = `…${requestId.slice(-12)}`
  if (!mayOpen)
    return (
      <Text span size="xs" ff="monospace" title={requestId}>
        {short}
      </Text>
    )
  return (
    <Anchor
      component={Link}
      href={`/turns/${segment(requestId)}`}
      size="xs"
      ff="monospace"
      title={requestId}
      aria-label={`Open the trace of request ${requestId}`}
    >
      {short}
    </Anchor>
  )
}
