/** One conversation of the operator with an agent: what is stored and what is said now, and next to it the details of the selected reply. */
import { Box, Drawer } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { Suspense, lazy, useEffect, useRef, useState } from 'react'
import type { KeyboardEvent } from 'react'
import type { Agent, AgentVersion, Message } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { useFollowEnd } from '../../show/follow-end.ts'
import { CostHint } from './cost-hint.tsx'
import { MessageBox } from './message-box.tsx'
import { MessageLog } from './message-log.tsx'
import classes from './playground.module.css'
import { useKept } from './use-kept.ts'
import { useRounds } from './rounds.ts'
import type { Rounds, Shown } from './rounds.ts'
import { SettingBar } from './setting-bar.tsx'
import { nameOf, turnIndexOf } from './settings.ts'
import type { Setting } from './settings.ts'
import { useStoredConversation } from './stored-conversation.ts'
import type { Detailed } from './turn-panel.tsx'

const TurnPanel = lazy(() => import('./turn-panel.tsx').then(({ TurnPanel: panel }) => ({ default: panel })))

type ChatProps = {
  agent: Agent
  externalUserId: string
  versions: AgentVersion[]
  /** One, or two to compare. */
  settings: readonly Setting[]
  onSetting(index: number, setting: Setting): void
  /** From the address. */
  draft: string
  /** Whether the details are shown; on a small screen they cover the conversation. */
  details: boolean
  onDetails(shown: boolean): void
}

export function Chat({ agent, externalUserId, versions, settings, onSetting, draft, details, onDetails }: ChatProps) {
  // A message in the address is a message of its own, which another visit does not find.
  const [text, setText] = useKept(`message ${agent.id} ${externalUserId} ${draft}`, draft)
  const [chosen, setChosen] = useState<Shown | null>(null)
  const box = useRef<HTMLTextAreaElement>(null)
  const isSmall = useMediaQuery('(max-width: 61.99em)') ?? false
  const rounds = useRounds(agent.id, externalUserId, setChosen)
  const stored = useStoredConversation(agent.id, externalUserId)
  const end = useFollowEnd()
  const replies = new Map(stored.messages.items.filter(({ role }) => role === 'assistant').map((reply) => [reply.request_id, reply]))
  const replyOf = (requestId: string | null): Message | undefined => (requestId === null ? undefined : replies.get(requestId))
  const [newest] = replies.keys()
  const shown = chosen ?? (newest === undefined ? null : { kind: 'turn' as const, requestId: newest })
  const detailed = detailsOf(shown, rounds, replyOf, agent)
  const comparing = settings.length > 1
  // A keyboard on the screen would cover what is there.
  useEffect(() => {
    if (!matchMedia('(pointer: coarse)').matches) box.current?.focus()
  }, [])
  const write = (written: string): void => {
    setText(written)
    box.current?.focus()
  }
  const stop = (): void => {
    rounds.stop()
    box.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    // Not from a dialog, whose events arrive here too.
    if (event.key !== 'Escape' || !rounds.reading || !event.currentTarget.contains(event.target as Node)) return
    event.preventDefault()
    stop()
  }
  const show = (one: Shown): void => {
    setChosen(one)
    onDetails(true)
  }

  return (
    <div className={classes['body']}>
      <Box className={classes['chat']} onKeyDown={onKeyDown}>
        {comparing ? <Compared agent={agent} versions={versions} settings={settings} onSetting={onSetting} /> : null}
        <MessageLog {...{ agent, externalUserId, stored, rounds, replyOf, shown, comparing, end }} onShow={show} onWrite={write} />
        <div className={classes['foot']}>
          <FailureNote error={rounds.exchanges.stopFailure} title="Could not cancel the turn" />
          <MessageBox
            box={box}
            text={text}
            placeholder={`Message ${agent.name}`}
            hint={<CostHint agent={agent} message={text} settings={settings} messages={stored.messages} />}
            onChange={setText}
            longest={agent.max_message_length}
            reading={rounds.reading}
            stopping={rounds.exchanges.stopping}
            onStop={stop}
            onSend={() => {
              end.follow()
              rounds.send(text, settings)
              write('')
            }}
          />
        </div>
      </Box>
      {isSmall ? (
        <Drawer
          opened={details}
          onClose={() => onDetails(false)}
          position="right"
          size="min(100%, 560px)"
          closeButtonProps={{ 'aria-label': 'Close' }}
        >
          <Suspense fallback={null}>
            <TurnPanel detailed={detailed} />
          </Suspense>
        </Drawer>
      ) : details ? (
        <aside className={classes['trace']} aria-label="Selected reply">
          <Suspense fallback={null}>
            <TurnPanel detailed={detailed} />
          </Suspense>
        </aside>
      ) : null}
    </div>
  )
}

function detailsOf(
  shown: Shown | null,
  { previews, all }: Rounds,
  replyOf: (requestId: string) => Message | undefined,
  agent: Agent,
): Detailed | null {
  if (shown === null) return null
  if (shown.kind === 'turn') return { ...shown, reply: replyOf(shown.requestId) }
  const run = previews.all.find(({ id }) => id === shown.id)
  const isPair = all.some(({ sides }) => sides.length > 1 && sides.some(({ key }) => key === shown.id))
  const letter = isPair ? (shown.id.endsWith(' 0') ? 'A: ' : 'B: ') : ''
  return run ? { kind: 'preview', run, name: `${letter}${nameOf(run.setting, agent.version)}` } : null
}

type ComparedProps = Pick<ChatProps, 'agent' | 'versions' | 'settings' | 'onSetting'>

/** The two configurations above their replies. */
const Compared = ({ agent, versions, settings, onSetting }: ComparedProps) => (
  <div className={classes['settings']}>
    {settings.map((setting, index) => {
      const letter = index === 0 ? 'A' : 'B'
      const isStored = index === turnIndexOf(settings)
      return (
        <SettingBar key={letter} {...{ agent, versions, setting, letter, isStored }} onChange={(changed) => onSetting(index, changed)} />
      )
    })}
  </div>
)
