/** Revokes a key permanently. */
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
      title={`Revoke ${calledOf(apiKey)}?`}
      verb="Revoke API key"
      pending={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      <List spacing="xs">
        <List.Item>Within a second, all requests with this key get 401, including replays of earlier replies.</List.Item>
        <List.Item>Running turns finish and are charged.</List.Item>
        <List.Item>Its conversations are kept and can be read here. No other key can access them.</List.Item>
        <List.Item>This cannot be undone. To keep using the conversations with a new secret, rotate the key instead.</List.Item>
      </List>
    </Confirm>
  )
}
