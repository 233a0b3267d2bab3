/** A message of this visit and its reply, or its two replies side by side. */
import type { Agent, Message } from '../../api/types.ts'
import { LiveReply } from './live-reply.tsx'
import classes from './playground.module.css'
import { PreviewReply } from './preview-reply.tsx'
import type { Round, Rounds, Shown, Side } from './rounds.ts'
import { Asked } from './said.tsx'
import { StoredBadge } from './setting-bar.tsx'
import { nameOf } from './settings.ts'

type RoundViewProps = {
  round: Round
  rounds: Rounds
  agent: Agent
  externalUserId: string
  replyOf(requestId: string | null): Message | undefined
  shown: Shown | null
  onShow(shown: Shown): void
  /** Puts a text into the message box. */
  onWrite(text: string): void
}

export function RoundView(props: RoundViewProps) {
  const { round, externalUserId } = props
  const isPair = round.sides.length > 1
  return (
    <>
      <Asked who={externalUserId} text={round.message} />
      <div className={isPair ? classes['sides'] : undefined}>
        {round.sides.map((side, index) => (
          <div
            key={side.key}
            className={isPair ? classes['side'] : undefined}
            {...(isPair ? { role: 'group', 'aria-label': `Reply of ${letters[index]}` } : {})}
          >
            <Reply {...props} side={side} letter={isPair ? letters[index] : undefined} />
          </div>
        ))}
      </div>
    </>
  )
}

const letters = ['A', 'B'] as const

function Reply({
  round,
  rounds,
  agent,
  replyOf,
  shown,
  onShow,
  onWrite,
  side,
  letter,
}: RoundViewProps & { side: Side; letter: 'A' | 'B' | undefined }) {
  const what = nameOf(side.setting, agent.version)
  const name = letter ? `${letter}: ${what}` : agent.name
  if (side.kind === 'preview') {
    const run = rounds.previews.all.find(({ id }) => id === side.key)
    if (!run) return null
    return (
      <PreviewReply
        run={run}
        name={letter ? name : `${agent.name} · ${what}`}
        shown={shown?.kind === 'preview' && shown.id === run.id}
        onShow={() => onShow({ kind: 'preview', id: run.id })}
        onRunAgain={() => rounds.previews.start(run)}
        onEdit={() => onWrite(round.message)}
      />
    )
  }
  const exchange = rounds.exchanges.all.find(({ idempotencyKey }) => idempotencyKey === side.key)
  if (!exchange) return null
  const { requestId } = exchange
  return (
    <LiveReply
      exchange={exchange}
      reply={replyOf(requestId)}
      name={name}
      badge={letter ? <StoredBadge isStored /> : undefined}
      shown={shown?.kind === 'turn' && shown.requestId === requestId}
      agent={{ id: agent.id, name: agent.name, ownerId: agent.owner_id }}
      busy={rounds.reading}
      onShow={() => requestId !== null && onShow({ kind: 'turn', requestId })}
      onAskAgain={() => rounds.exchanges.askAgain(side.key)}
      onTakeBack={() => onWrite(rounds.takeBack(round))}
    />
  )
}
