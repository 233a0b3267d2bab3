/** Runs `turnkeep verify` on the server and shows whether each invariant holds. The last result stays while the page is open. */
import { Button, Code, Group, Loader, Stack, Text } from '@mantine/core'
import { skipToken, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call } from '../../api/client.ts'
import type { Verification } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { writeSpan } from '../../show/measures.ts'
import { Invariants } from './invariants.tsx'
import { Part } from './part.tsx'
import { Allowed } from '../../show/allowed.tsx'

const resultKey = ['verification']

export function Verify() {
  const queries = useQueryClient()
  const last = useQuery<Verification>({ queryKey: resultKey, queryFn: skipToken, staleTime: Infinity, gcTime: Infinity })
  const verify = useMutation({
    mutationFn: () => call<Verification>('/verify', { method: 'POST' }),
    onSuccess: (result) => queries.setQueryData(resultKey, result),
  })
  return (
    <Part
      title="Data verification"
      lead={
        <>
          Checks all rows against the invariants of the database, for example that every balance equals the sum of its ledger and that every
          completed turn is charged once. It reads a snapshot in a separate read-only process while turns continue. A large database can
          take minutes. After five minutes the check stops; run <Code>npx --no-install turnkeep verify</Code> on the server instead.
        </>
      }
      actions={
        <Allowed permission="system" installation>
          <Button variant="default" loading={verify.isPending} onClick={() => verify.mutate()}>
            Verify data
          </Button>
        </Allowed>
      }
    >
      <Stack gap="sm">
        {verify.isPending ? <Progress /> : null}
        <FailureNote error={verify.error} title="Could not verify the data" onRetry={() => verify.mutate()} />
        {last.data && !verify.isPending ? <Invariants verification={last.data} /> : null}
      </Stack>
    </Part>
  )
}

function Progress() {
  const [started] = useState(() => Date.now())
  const [now, setNow] = useState(started)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return (
    <Group gap="xs">
      <Loader size="sm" aria-hidden />
      <Text component="output" size="sm">
        Checking all rows… <span aria-hidden="true">{writeSpan(now - started)}</span>
      </Text>
    </Group>
  )
}
