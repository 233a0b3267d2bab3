/** Ends a key for good. */
import { List } from '@mantine/core'
import type { Key } from '../../api/types.ts'
import { Confirm } from '../../show/confirm.tsx'
import { calledOf } from './key-form.ts'
import { useRevokeKey } from './key-writes.ts'

export function RevokeKey({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const revoke = useRevokeKey(apiKey)
  return (
    <Confirm
      opened
      title={`Revoke ${calledOf(apiKey)}`}
      verb="Revoke the key"
      pending={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      <List spacing="xs">
        <List.Item>Within a second every process refuses it: callers get 401, also for replies that were given before.</List.Item>
        <List.Item>A turn that runs now is finished, stored and charged.</List.Item>
        <List.Item>Its conversations stay and can be read here; no other key reaches them.</List.Item>
        <List.Item>It cannot be undone. To go on with the same conversations and a new secret, rotate the key instead.</List.Item>
      </List>
    </Confirm>
  )
}
