/** The turns without a reply of the range, by cause: which provider fails, since when, what it said, and the failing trace. */
import { Anchor, Badge, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { call, segment } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import type { Agent, Page, Turn, Usage } from '../../api/types.ts'
import { writeCount } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Since } from '../../show/since.tsx'
import { Panel } from '../../show/panel.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { RowsLoading } from './attention-panel.tsx'
import { groupCauses } from './causes.ts'
import type { CauseGroup } from './causes.ts'

const refetchInterval = 30_000

/** Failed turns are final; released ones may be run again by their caller. The operator needs to know both. */
async function readNewest(signal: AbortSignal): Promise<Turn[]> {
  const read = (status: Turn['status']) => call<Page<Turn>>('/turns', { query: { status, limit: 100 }, signal })
  const [failed, released] = await Promise.all([read('failed'), read('released')])
  return [...failed.data, ...released.data]
}

export function FailuresPanel({ usage, agents }: { usage: Usage | undefined; agents: Agent[] }) {
  const turns = useQuery({ queryKey: ['turns', 'without a reply'], queryFn: ({ signal }) => readNewest(signal), refetchInterval })
  return (
    <Panel
      title="Turns without a reply"
      note="by cause"
      aside={
        <Group gap="sm">
          <Anchor component={Link} href="/turns?status=released" size="sm">
            All released turns
          </Anchor>
          <Anchor component={Link} href="/turns?status=failed" size="sm">
            All failed turns
          </Anchor>
        </Group>
      }
    >
      {usage === undefined || turns.isPending ? (
        <RowsLoading rows={3} what="turns without a reply" />
      ) : (
        <Waiting for={turns} what="turns without a reply">
          {(found) => <Groups groups={groupCauses(usage, found, agents)} />}
        </Waiting>
      )}
    </Panel>
  )
}

function Groups({ groups }: { groups: CauseGroup[] }) {
  if (groups.length === 0)
    return (
      <Text size="sm" c="dimmed" className="panel-body">
        Every turn of this range has a reply.
      </Text>
    )
  return (
    <ul className="panel-rows" aria-label="Turns without a reply by cause">
      {groups.map((group) => (
        <Row key={group.cause} group={group} />
      ))}
    </ul>
  )
}

function Row({ group: { cause, count, since, last, words, requestId, providers, agents } }: { group: CauseGroup }) {
  const mayOpen = useMay('conversations')
  const involved = [...(cause.startsWith('provider_') ? providers : []), ...agents].join(' · ')
  return (
    <li className="attention-row">
      <div className="attention-text">
        <Text size="sm" component="div" className="cause-line">
          <Badge color="red" radius="sm" ff="monospace">
            {cause}
          </Badge>
          <span>
            <b>{writeCount(count)}</b> · since <Since at={since} /> · last <Moment at={last} />
          </span>
        </Text>
        {words === null ? null : (
          <Text size="sm" mt={4} className="as-written" lineClamp={2}>
            {words}
          </Text>
        )}
        {involved === '' ? null : (
          <Text size="xs" c="dimmed" className="as-written">
            {involved}
          </Text>
        )}
      </div>
      {requestId !== null && mayOpen ? (
        <Anchor
          component={Link}
          href={`/turns/${segment(requestId)}`}
          size="sm"
          className="attention-action"
          aria-label={`Open trace: newest turn with ${cause}`}
        >
          Open trace
        </Anchor>
      ) : null}
    </li>
  )
}
