/** The turns that run now, of all processes, each with a button that cancels it. It updates by itself. */
import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useList } from '../../api/lists.ts'
import { useMay } from '../../api/session.ts'
import { useCancel } from '../../api/turns.ts'
import type { Agent, Turn } from '../../api/types.ts'
import { writeSpan } from '../../show/measures.ts'
import { Panel } from '../../show/panel.tsx'
import { CancelButton, CancelOutcome } from '../../show/cancel-turn.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { RowsLoading } from './attention-panel.tsx'

const refetchMs = 3_000
/** The rest is under Status. */
const maxShown = 8

export function RunningPanel({ agents }: { agents: Agent[] }) {
  const list = useList<Turn>(['turns', 'running', 'now'], '/turns', { status: 'running' }, { refetchMs })
  const cancel = useCancel()
  const mayOpen = useMay('conversations')
  const count = list.items.length
  return (
    <Panel title="Running now" note={count > 0 ? `${count}${list.more ? ' or more' : ''}` : null}>
      {list.query.isPending ? (
        <RowsLoading rows={1} what="running turns" />
      ) : (
        <Waiting for={list.query} what="running turns">
          {() => (
            <>
              {cancel.data || cancel.error ? (
                <div className="panel-body">
                  <CancelOutcome cancel={cancel} />
                </div>
              ) : null}
              {count === 0 ? (
                <Text size="sm" c="dimmed" className="panel-body">
                  No turn is running.
                </Text>
              ) : (
                <ul className="panel-rows" aria-label="Running turns">
                  {list.items.slice(0, maxShown).map((turn) => (
                    <li key={turn.request_id} className="attention-row">
                      <span className="live-dot" aria-hidden="true" />
                      <Text size="sm" component="div" className="attention-text as-name">
                        {mayOpen ? (
                          <Anchor component={Link} href={`/turns/${segment(turn.request_id)}`} inherit>
                            {nameOf(turn, agents)}
                          </Anchor>
                        ) : (
                          nameOf(turn, agents)
                        )}{' '}
                        <Text span size="xs" c="dimmed" className="figures">
                          {writeSpan(list.query.dataUpdatedAt - Date.parse(turn.started_at))}
                          {turn.attempts > 1 ? ', recovered' : ''}
                        </Text>
                      </Text>
                      {turn.cancel_requested_at === null ? (
                        <CancelButton requestId={turn.request_id} cancel={cancel} />
                      ) : (
                        <Text size="sm">Cancelling…</Text>
                      )}
                    </li>
                  ))}
                </ul>
              )}
            </>
          )}
        </Waiting>
      )}
    </Panel>
  )
}

const nameOf = ({ agent_id: agentId }: Turn, agents: Agent[]): string => agents.find(({ id }) => id === agentId)?.name ?? 'Deleted agent'
