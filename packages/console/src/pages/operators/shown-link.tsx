/** Shows an invitation link once. */
import { Alert, Text } from '@mantine/core'
import type { Access } from '../../show/access-fields.tsx'
import { AccessText } from '../../show/access-text.tsx'
import { CodeBlock } from '../../show/code-block.tsx'
import { Moment } from '../../show/moment.tsx'
import { ShownOnce } from '../../show/shown-once.tsx'

type ShownLinkProps = { url: string; name: string; access: Access; expiresAt: string; onClose: () => void }

export function ShownLink({ url, name, access, expiresAt, onClose }: ShownLinkProps) {
  return (
    <ShownOnce title={`Invitation for ${name}`} size="lg" stored="I have copied the link" onStored={onClose}>
      <Alert color="yellow" variant="light" title="Copy the link now">
        It is shown only once. Send it to this person alone: whoever opens it first gets the account.
      </Alert>
      <CodeBlock text={url} label="invitation link" />
      <Text size="sm" component="div">
        Role: <AccessText access={access} />
      </Text>
      <Text size="sm" component="div">
        It works once, until <Moment at={expiresAt} exact />.
      </Text>
    </ShownOnce>
  )
}
