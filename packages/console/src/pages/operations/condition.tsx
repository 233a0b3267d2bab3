/** The state of the process that answers: readiness, store, rate limiter, load, and its counters since the start. */
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
const limiterNames: Record<Status['limiter']['kind'], string> = { memory: 'In memory', postgres: 'PostgreSQL', redis: 'Redis' }

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
            <FailureNote error={status.error} title={`Not updated since ${readAt}`} onRetry={() => void status.refetch()} />
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
          <Figure label="Readiness" note={draining ? 'finishing running turns, rejecting new ones' : 'accepting requests'}>
            <Verdict good={!draining} word={draining ? 'Draining' : 'Ready'} />
          </Figure>
          <Figure label="Database" note={storeNames[store.kind]}>
            <Verdict good={store.state === 'ok'} word={store.state === 'ok' ? 'OK' : 'No response'} />
          </Figure>
          <Figure label="Rate limiter" note={limiterNames[limiter.kind]}>
            <Verdict good={limiter.state === 'ok'} word={limiter.state === 'ok' ? 'OK' : 'No response'} />
          </Figure>
          <Figure label="Version" note={`Node ${node.replace(/^v/, '')}`}>
            {version}
          </Figure>
          <Figure label="Workers" note="processes on this machine">
            {writeCount(workers)}
          </Figure>
          <Figure label="Uptime" note="of the process that responded">
            {writeSpan(readAt - Date.parse(startedAt))}
          </Figure>
        </Figures>
        {store.state === 'ok' ? null : (
          <Alert color="red" variant="outline" title="The database does not respond" role="alert">
            Messages are rejected with 503 until it does; nothing is lost or charged. Check the database, its disk, and its connections.
          </Alert>
        )}
        {limiter.state === 'ok' ? null : (
          <Alert color="red" variant="outline" title="The rate limiter does not respond" role="alert">
            Messages are rejected with 503 until it does, so that no rate limit is exceeded. Check the server in REDIS_URL, or the database.
          </Alert>
        )}
      </Stack>
    </Part>
  )
}

function Load({ status: { turns, process, workers, documents }, readAt }: { status: Status; readAt: string }) {
  const { waiting } = turns
  return (
    <Part
      title="Load"
      lead={`Reported by one process at ${readAt}.${workers > 1 ? ` The next update may come from another of the ${workers} workers; totals are at /metrics.` : ''}`}
    >
      <Figures>
        <Figure label="Running turns" note={`limit ${writeCount(turns.most)}`}>
          {writeCount(turns.running)}
        </Figure>
        <Figure label="Queued for admission">{writeCount(waiting.admission)}</Figure>
        <Figure label="Queued to advance" note="lease and journal writes">
          {writeCount(waiting.advance)}
        </Figure>
        <Figure label="Queued for settlement">{writeCount(waiting.settlement)}</Figure>
        <Figure label="Queued to fail">{writeCount(waiting.failure)}</Figure>
        {documents ? (
          <Figure label="Queued documents" note={`${writeCount(documents.indexing)} being indexed`}>
            {writeCount(documents.queued)}
          </Figure>
        ) : null}
        <Figure label="Memory" note="resident set size">
          {writeBytes(process.rss_bytes)}
        </Figure>
        <Figure label="Event loop delay p99">{writeMs(process.event_loop_p99_ms)}</Figure>
      </Figures>
    </Part>
  )
}

function Counted({ status: { counted, started_at: startedAt } }: { status: Status }) {
  const figures = [
    { label: 'Completed', count: counted.completed },
    { label: 'Errors', count: counted.errors, note: 'runs without a reply', alarming: counted.errors > 0 },
    { label: 'Cancelled', count: counted.cancelled, note: 'before any text' },
    { label: 'Recovered', count: counted.recovered, note: 'resumed after another process stopped' },
    { label: 'Lost', count: counted.lost, note: 'taken over by another process' },
    { label: 'Replayed', count: counted.replayed, note: 'stored reply returned, not charged' },
    { label: 'Rejected', count: counted.refused, note: 'requests without a turn' },
    { label: 'Model retries', count: counted.model_retries, note: 'repeated model calls' },
  ]
  return (
    <Part
      title="Since process start"
      lead={
        <>
          Counted by the same process since <Moment at={startedAt} />. For totals over time, see Usage.
        </>
      }
    >
      <Figures>
        {figures.map(({ label, count, ...rest }) => (
          <Figure key={label} label={label} {...rest}>
            {writeCount(count)}
          </Figure>
        ))}
      </Figures>
    </Part>
  )
}
