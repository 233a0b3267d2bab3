/** Runs `turnkeep verify` on the server and shows, invariant by invariant, whether it holds. The last result stays while the page is open. */
import { Button, Code, Group, Loader, Stack, Text } from '@mantine/core'
import { skipToken, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call } from '../../api/client.ts'
import type { Verification } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { writeSpan } from '../../show/measures.ts'
import { Invariants } from './invariants.tsx'
import { Part } from './part.tsx'

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
      title="Verify the stored data"
      lead={
        <>
          Asks of all rows whether what must always be true is true: balances are the sums of their ledgers, a completed turn is charged
          once, and so on. It reads the whole database as one moment shows it, in a process of its own that cannot write; turns go on
          meanwhile. A large database keeps the disk busy for minutes; after five it is given up, and <Code>npx turnkeep verify</Code> does
          it on the server.
        </>
      }
      actions={
        <Button variant="default" loading={verify.isPending} onClick={() => verify.mutate()}>
          Verify the data
        </Button>
      }
    >
      <Stack gap="sm">
        {verify.isPending ? <Progress /> : null}
        <FailureNote error={verify.error} title="Not verified" onRetry={() => verify.mutate()} />
        {last.data && !verify.isPending ? <Invariants verification={last.data} /> : null}
      </Stack>
    </Part>
  )
}

function Progress() {
  const [begun] = useState(() => Date.now())
  const [now, setNow] = useState(begun)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return (
    <Group gap="xs">
      <Loader size="sm" aria-hidden />
      <Text component="output" size="sm">
        Reading all rows … <span aria-hidden="true">{writeSpan(now - begun)}</span>
      </Text>
    </Group>
  )
}
