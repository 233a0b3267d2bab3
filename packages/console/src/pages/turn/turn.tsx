/** One turn by its request ID: what it cost, how its reply came about, beside another turn, and its message run again. */
import { Skeleton, Stack, Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Suspense, lazy } from 'react'
import { useSearchParams } from 'wouter'
import { call, segment } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { useCancel, useTrace, useTurn } from '../../api/turns.ts'
import type { Conversation, TurnTrace, TurnWithSteps } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { Page } from '../../show/page.tsx'
import { CancelButton, CancelOutcome } from '../../show/cancel-turn.tsx'
import { LiveTrace } from '../../show/turn-trace.tsx'
import { Message, Said } from './said.tsx'
import { TurnActions } from './turn-actions.tsx'
import { TurnFacts, TurnIds } from './turn-facts.tsx'
import { TurnFailure } from './turn-failure.tsx'

const RunAgain = lazy(() => import('./run-again.tsx').then(({ RunAgain: part }) => ({ default: part })))
const Compare = lazy(() => import('./compare.tsx').then(({ Compare: part }) => ({ default: part })))

// A title fits on one line of a usual window.
const longestTitle = 80
const trail = [{ href: '/turns', label: 'Traces' }]

export function TurnPage({ requestId }: { requestId: string }) {
  const turn = useTurn(requestId)
  const trace = useTrace(requestId)
  const conversation = useConversationOf(trace.data)
  const cancel = useCancel()
  const message = trace.data?.message
  const isTitle = message !== undefined && message.length <= longestTitle && !message.trim().includes('\n') && message.trim() !== ''
  const user = conversation.data?.external_user_id
  const error = turn.error ?? trace.error
  return (
    <Page
      title={message === undefined ? 'Trace' : titleOf(message)}
      trail={trail}
      actions={
        turn.data && message !== undefined ? (
          <>
            {turn.data.status === 'running' ? <CancelButton requestId={requestId} cancel={cancel} size="sm" /> : null}
            {user ? <TurnActions agentId={turn.data.agent_id} externalUserId={user} message={message} /> : null}
          </>
        ) : null
      }
    >
      {turn.data ? (
        <Stack gap="xs">
          <TurnFacts turn={turn.data} conversation={conversation.data} />
          <TurnIds turn={turn.data} />
        </Stack>
      ) : error ? null : (
        <Skeleton h={56} radius="md" />
      )}
      {turn.data?.incomplete ? null : <CancelOutcome cancel={cancel} />}
      {turn.data ? <TurnFailure turn={turn.data} /> : null}
      <FailureNote error={error} title="Could not load the trace" onRetry={() => void Promise.all([turn.refetch(), trace.refetch()])} />
      {message === undefined || isTitle ? null : <Message text={message} />}
      {trace.data ? (
        <Views trace={trace.data} readAt={trace.dataUpdatedAt} feedback={turn.data?.feedback} />
      ) : error ? null : (
        <Skeleton h={420} radius="md" />
      )}
    </Page>
  )
}

const useConversationOf = (trace: TurnTrace | undefined) =>
  useQuery({
    queryKey: ['conversations', trace?.conversation_id, 'itself'],
    queryFn: ({ signal }) => call<Conversation>(`/conversations/${segment(trace!.conversation_id)}`, { signal }),
    enabled: trace !== undefined,
    // The name of an end user, who may have been erased meanwhile.
    gcTime: 0,
  })

function titleOf(message: string): string {
  const line = message.trim().split('\n')[0]!.trim()
  if (line === '') return 'Trace'
  return line.length > longestTitle ? `${line.slice(0, longestTitle).toWellFormed().trimEnd()}…` : line
}

/** What is chosen is in the address: a span, another turn, or the form. */
function Views({ trace, readAt, feedback }: { trace: TurnTrace; readAt: number; feedback: TurnWithSteps['feedback'] | undefined }) {
  const [search, setSearch] = useSearchParams()
  // No one pays for it, so an operator of one owner may not.
  const mayRunAgain = useMay('agents', true)
  const view = search.has('compare') ? 'compare' : search.get('view') === 'again' && mayRunAgain ? 'again' : 'trace'
  const show = (chosen: string | null): void =>
    setSearch(chosen === 'compare' ? { compare: '' } : chosen === 'again' ? { view: 'again' } : {})
  return (
    <Tabs value={view} onChange={show} keepMounted={false}>
      <Tabs.List mb="md">
        <Tabs.Tab value="trace">Trace</Tabs.Tab>
        <Tabs.Tab value="compare">Compare</Tabs.Tab>
        {mayRunAgain ? <Tabs.Tab value="again">Run again</Tabs.Tab> : null}
      </Tabs.List>
      <Tabs.Panel value="trace">
        <LiveTrace
          trace={trace}
          readAt={readAt}
          layout="wide"
          selected={search.get('span')}
          onSelect={(span) => setSearch({ span }, { replace: true })}
          below={<Said requestId={trace.request_id} isRunning={trace.status === 'running'} reply={trace.reply} feedback={feedback} />}
        />
      </Tabs.Panel>
      <Suspense fallback={<Skeleton h={420} radius="md" />}>
        <Tabs.Panel value="compare">
          <Compare trace={trace} other={search.get('compare') || null} onChoose={(id) => setSearch({ compare: id })} />
        </Tabs.Panel>
        <Tabs.Panel value="again">
          {trace.status === 'running' ? 'The turn is still running. It can be run again when it has ended.' : <RunAgain trace={trace} />}
        </Tabs.Panel>
      </Suspense>
    </Tabs>
  )
}
