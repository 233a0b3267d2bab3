/** What needs attention: one list, each with one action. A quiet line if there is nothing. */
import { Anchor, Button, Group, Skeleton, Text } from '@mantine/core'
import { IconCircleCheck, IconFileAlert, IconGauge, IconPlugConnectedX, IconServerOff, IconWallet, IconWebhook } from '@tabler/icons-react'
import type { Icon } from '@tabler/icons-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { FailureNote } from '../../show/failure-note.tsx'
import { Moment } from '../../show/moment.tsx'
import { Since } from '../../show/since.tsx'
import { Panel } from '../../show/panel.tsx'
import type { AttentionItem } from './attention.ts'

const icons: Record<AttentionItem['kind'], Icon> = {
  provider: IconPlugConnectedX,
  balance: IconWallet,
  limit: IconGauge,
  webhook: IconWebhook,
  document: IconFileAlert,
  service: IconServerOff,
}

/** The rest is one click away. */
const firstShown = 6

export function AttentionPanel({
  items,
  error,
  onRetry,
}: {
  items: AttentionItem[] | undefined
  error: Error | null
  onRetry: () => void
}) {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? items : items?.slice(0, firstShown)
  return (
    <Panel title="Needs attention" note={items && items.length > 0 ? items.length : null}>
      {error ? (
        <div className="panel-body">
          <FailureNote error={error} title="Could not load everything that needs attention" onRetry={onRetry} />
        </div>
      ) : null}
      {shown === undefined ? (
        error ? null : (
          <RowsLoading rows={3} what="what needs attention" />
        )
      ) : shown.length === 0 ? (
        <Group gap="xs" className="panel-body">
          <IconCircleCheck size={18} color="var(--tk-good)" aria-hidden />
          <Text size="sm" c="dimmed">
            Nothing needs attention.
          </Text>
        </Group>
      ) : (
        <ul className="panel-rows" aria-label="Needs attention">
          {shown.map((item) => (
            <Row key={item.key} item={item} />
          ))}
        </ul>
      )}
      {items && items.length > firstShown ? (
        <div className="panel-body">
          <Button variant="default" size="xs" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? 'Show fewer' : `Show all ${items.length}`}
          </Button>
        </div>
      ) : null}
    </Panel>
  )
}

function Row({ item: { kind, level, title, detail, since, until, action } }: { item: AttentionItem }) {
  const Mark = icons[kind]
  return (
    <li className="attention-row">
      <Mark
        size={18}
        stroke={1.75}
        color={level === 'broken' ? 'var(--tk-bad)' : 'var(--tk-warn)'}
        aria-label={level === 'broken' ? 'Error' : 'Warning'}
        role="img"
      />
      <div className="attention-text">
        <Text size="sm" className="as-written">
          <Text span inherit fw={500}>
            {title}
          </Text>
          {since ? (
            <Text span size="xs" c="dimmed">
              {' '}
              since <Since at={since} />
            </Text>
          ) : null}
          {until ? (
            <Text span size="xs" c="dimmed">
              {' '}
              resets <Moment at={until} />
            </Text>
          ) : null}
        </Text>
        <Text size="xs" c="dimmed" className="as-written" lineClamp={3}>
          {detail}
        </Text>
      </div>
      <Anchor component={Link} href={action.href} size="sm" className="attention-action" aria-label={`${action.label}: ${title}`}>
        {action.label}
      </Anchor>
    </li>
  )
}

/** Has the height of rows, so that nothing moves when they arrive. */
export function RowsLoading({ rows, what }: { rows: number; what: string }) {
  return (
    <div role="status" aria-label={`Loading ${what}`} className="panel-body">
      {Array.from({ length: rows }, (_, index) => (
        <Skeleton key={index} h={36} my={6} />
      ))}
    </div>
  )
}
