/** The actions of a turn: open its message in the playground, or copy the request that started it. */
import { Button } from '@mantine/core'
import { IconCheck, IconPlayerPlay, IconTerminal2 } from '@tabler/icons-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { randomId } from '../../api/random-id.ts'
import { useSession } from '../../api/session.ts'
import { Allowed } from '../../show/allowed.tsx'
import { curlOf } from '../../show/shell-quote.ts'
import { useCopy } from '../../show/use-copy.ts'

type TurnActionsProps = { agentId: string; externalUserId: string; message: string }

export function TurnActions({ agentId, externalUserId, message }: TurnActionsProps) {
  const search = new URLSearchParams({ user: externalUserId, message }).toString()
  return (
    <>
      <CopyCurl agentId={agentId} externalUserId={externalUserId} message={message} />
      <Allowed permission="agents">
        <Button
          component={Link}
          href={`/playground/${segment(agentId)}?${search}`}
          size="sm"
          leftSection={<IconPlayerPlay size={15} aria-hidden="true" />}
        >
          Open in playground
        </Button>
      </Allowed>
    </>
  )
}

const shown = { copied: 'Copied', refused: 'No clipboard here' }

function CopyCurl(request: TurnActionsProps) {
  const session = useSession()
  const { reported, copy } = useCopy()
  // One message, one key: running the command twice is answered and charged once.
  const [idempotencyKey] = useState(() => `copy-${randomId(8)}`)
  const apiUrl = session.data?.session.api_url ?? location.origin
  return (
    <Button
      variant="default"
      size="sm"
      leftSection={reported === 'copied' ? <IconCheck size={15} aria-hidden="true" /> : <IconTerminal2 size={15} aria-hidden="true" />}
      onClick={() => copy(curlOf({ apiUrl, idempotencyKey, ...request }))}
    >
      <span aria-live="polite">{reported ? shown[reported] : 'Copy as curl'}</span>
    </Button>
  )
}
