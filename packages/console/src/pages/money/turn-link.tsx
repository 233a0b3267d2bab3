/** Links a turn's request ID to its conversation, which is looked up on a click, because a ledger only contains request IDs. */
import { Anchor, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { call, segment } from '../../api/client.ts'
import type { TurnWithSteps } from '../../api/types.ts'

export function TurnLink({ requestId }: { requestId: string }) {
  const [, navigate] = useLocation()
  const find = useMutation({
    mutationFn: () => call<TurnWithSteps>(`/turns/${segment(requestId)}`),
    onSuccess: ({ conversation_id: id }) => navigate(`/conversations/${segment(id)}`),
  })
  return (
    <>
      <Anchor
        component="button"
        type="button"
        size="xs"
        ff="monospace"
        title={requestId}
        aria-label={`Open conversation of request ${requestId}`}
        disabled={find.isPending}
        onClick={() => find.mutate()}
      >
        {requestId.slice(0, 8)}…
      </Anchor>
      <Text component="output" size="xs" display="block">
        {find.isPending ? 'Loading…' : find.error ? find.error.message : ''}
      </Text>
    </>
  )
}
