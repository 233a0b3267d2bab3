/** How the service is, as the process that answers tells it: readiness, store, limiter, load, and what it has counted since its start. */
import { Alert, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Status } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { Figure, Figures } from '../../show/figure.tsx'
import { writeBytes, writeCount, writeMs, writeSpan } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { Part } from './part.tsx'
import { oftenMs } from './polling.ts'
import { Verdict } from './verdict.tsx'

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const storeNames: Record<Status['store']['kind'], string> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }
const limiterNames: Record<Status['limiter']['kind'], string> = { memory: 'In the process', postgres: 'PostgreSQL', redis: 'Redis' }

export function Condition() {
  const status = useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) => call<Status>('/status', { signal }),
    refetchInterval: oftenMs,
    staleTime: 0,
  })
  const readAt = clock.format(status.dataUpdatedAt)
  return (
    <Waiting for={status} what="the status">
      {(found) => (
        <>
          {status.error ? (
            <FailureNote error={status.error} title={`Not read since ${readAt}`} onRetry={() => void status.refetch()} />
          ) : null}
          <Health status={found} readAt={status.dataUpdatedAt} />
          <Load status={found} readAt={readAt} />
          <Counted status={found} />
        </>
      )}
    </Waiting>
  )
}

function Health({ status, readAt }: { status: Status; readAt: number }) {
  const { draining, store, limiter, workers, version, node, started_at: startedAt } = status
  return (
    <Part title="Health">
      <Stack>
        <Figures>
          <Figure label="Readiness" note={draining ? 'running turns finish, nothing new begins' : 'migrated, listening, not draining'}>
            <Verdict good={!draining} word={draining ? 'Draining' : 'Ready'} />
          </Figure>
          <Figure label="Store" note={storeNames[store.kind]}>
            <Verdict good={store.state === 'ok'} word={store.state === 'ok' ? 'OK' : 'No answer'} />
          </Figure>
          <Figure label="Limiter" note={limiterNames[limiter.kind]}>
            <Verdict good={limiter.state === 'ok'} word={limiter.state === 'ok' ? 'OK' : 'No answer'} />
          </Figure>
          <Figure label="Version" note={`Node ${node.replace(/^v/, '')}`}>
            {version}
          </Figure>
          <Figure label="Workers" note="processes on this machine">
            {writeCount(workers)}
          </Figure>
          <Figure label="Up for" note="the process that answered">
            {writeSpan(readAt - Date.parse(startedAt))}
          </Figure>
        </Figures>
        {store.state === 'ok' ? null : (
          <Alert color="red" variant="outline" title="The store does not answer" role="alert">
            Messages are refused with 503 until it does; nothing is lost or charged. Look at the database, its disk and its connections.
          </Alert>
        )}
        {limiter.state === 'ok' ? null : (
          <Alert color="red" variant="outline" title="The limiter does not answer" role="alert">
            Messages are refused with 503 until it does, so that no limit is passed. Look at the server of REDIS_URL, or at the database.
          </Alert>
        )}
      </Stack>
    </Part>
  )
}

function Load({ status: { turns, process, workers }, readAt }: { status: Status; readAt: string }) {
  const { waiting } = turns
  return (
    <Part
      title="Load"
      lead={`Of the process that answered at ${readAt}${workers > 1 ? `, one of ${workers}: the next answer may be another’s. All of them added up stand at /metrics` : ''}.`}
    >
      <Figures>
        <Figure label="Running turns" note={`of at most ${writeCount(turns.most)}`}>
          {writeCount(turns.running)}
        </Figure>
        <Figure label="Waiting for admission">{writeCount(waiting.admission)}</Figure>
        <Figure label="Waiting to advance" note="leases and journal">
          {writeCount(waiting.advance)}
        </Figure>
        <Figure label="Waiting for settlement">{writeCount(waiting.settlement)}</Figure>
        <Figure label="Waiting to fail">{writeCount(waiting.failure)}</Figure>
        <Figure label="Memory" note="resident">
          {writeBytes(process.rss_bytes)}
        </Figure>
        <Figure label="Event loop p99" note="how late it is at most, 99 times of 100">
          {writeMs(process.event_loop_p99_ms)}
        </Figure>
      </Figures>
    </Part>
  )
}

function Counted({ status: { counted, started_at: startedAt } }: { status: Status }) {
  const figures = [
    { label: 'Completed', count: counted.completed },
    { label: 'Failed', count: counted.failed, note: 'for good' },
    { label: 'Released', count: counted.released, note: 'a retry runs them again' },
    { label: 'Recovered', count: counted.recovered, note: 'claimed after their lease had run out' },
    { label: 'Lost', count: counted.lost, note: 'left to whoever claims them' },
    { label: 'Replayed', count: counted.replayed, note: 'answered again, not charged' },
    { label: 'Refused', count: counted.refused, note: 'requests without a turn' },
    { label: 'Model retries', count: counted.model_retries, note: 'calls made again' },
  ]
  return (
    <Part
      title="Since the start"
      lead={
        <>
          Counted by the same process since <Moment at={startedAt} />. What lasts stands on the page Usage.
        </>
      }
    >
      <Figures>
        {figures.map(({ label, count, note }) => (
          <Figure key={label} label={label} note={note}>
            {writeCount(count)}
          </Figure>
        ))}
      </Figures>
    </Part>
  )
}
