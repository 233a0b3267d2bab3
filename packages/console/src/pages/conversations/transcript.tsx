/** One conversation with the cost and the failures of its turns, the trace of one beside it, and its erasure. `turn` and `q` of the address name a turn and a text. */
import { Alert, Anchor, Button, Menu, Stack, Text } from '@mantine/core'
import { useFocusReturn } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useCancel } from '../../api/turns.ts'
import { Empty } from '../../show/empty.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { writeCount } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Page } from '../../show/page.tsx'
import { CancelOutcome } from '../../show/cancel-turn.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { EraseConversation, EraseEndUser } from '../../show/erase.tsx'
import type { Erased } from '../../show/erase.tsx'
import style from './chat.module.css'
import { useConversation, useUnanswered } from './conversation.ts'
import { KeepFolds } from './folds.tsx'
import { MessageList } from './message-list.tsx'
import { TranscriptFacts } from './transcript-facts.tsx'
import { rowsOf } from './transcript-rows.ts'
import { TurnBeside } from './turn-beside.tsx'
import { useMessages } from './use-messages.ts'
import type { Messages } from './use-messages.ts'
import { Allowed } from '../../show/allowed.tsx'
import { pathOfEndUser } from '../../show/end-user-path.ts'

export function Transcript({ id }: { id: string }) {
  const [erased, setErased] = useState<Erased | null>(null)
  return erased ? <Gone erased={erased} /> : <Kept id={id} onErased={setErased} />
}

function Kept({ id, onErased }: { id: string; onErased: (erased: Erased) => void }) {
  const queries = useQueryClient()
  const messages = useMessages(id)
  const newestFirst = useMemo(() => messages.data?.pages.flatMap(({ data }) => data) ?? [], [messages.data])
  const conversation = useConversation(id)
  const unanswered = useUnanswered(id)
  const cancel = useCancel()
  const turns = unanswered.data?.turns
  const rows = useMemo(() => rowsOf(newestFirst, turns ?? [], messages.hasNextPage), [newestFirst, turns, messages.hasNextPage])
  useRepliesOf(messages, turns?.some(({ state }) => state === 'running') ?? false)
  const [asking, setAsking] = useState<'conversation' | 'end user' | null>(null)
  useFocusReturn({ opened: asking !== null })
  const isErased = conversation.data?.external_user_id === null
  const user = conversation.data?.external_user_id ?? null
  const agentId = conversation.data?.agent_id
  const { openTurn, wanted, takesFocus, open, close, find } = useAddress()
  const refresh = (): void => {
    void queries.resetQueries({ queryKey: ['conversations', id, 'transcript'] })
    void queries.invalidateQueries({ queryKey: ['conversations', id, 'itself'] })
    void queries.invalidateQueries({ queryKey: ['turns'] })
  }
  return (
    <Page
      trail={[{ href: '/conversations', label: 'Conversations' }]}
      title={isErased ? 'Erased conversation' : user === null ? 'Conversation' : `Conversation with ${user}`}
      actions={
        <>
          <Button variant="default" loading={messages.isFetching && !messages.isFetchingNextPage} onClick={refresh}>
            Refresh
          </Button>
          {user === null || agentId === undefined ? null : (
            <Button component={Link} href={pathOfEndUser(agentId, user)} variant="default">
              End user
            </Button>
          )}
          <Allowed permission="erase">
            {isErased || !messages.data ? null : (
              <Menu position="bottom-end">
                <Menu.Target>
                  <Button variant="default">Erase…</Button>
                </Menu.Target>
                <Menu.Dropdown>
                  <Menu.Item onClick={() => setAsking('conversation')}>Erase conversation</Menu.Item>
                  {user === null ? null : <Menu.Item onClick={() => setAsking('end user')}>Erase end user</Menu.Item>}
                </Menu.Dropdown>
              </Menu>
            )}
          </Allowed>
        </>
      }
    >
      <Stack gap="md">
        <TranscriptFacts id={id} conversation={conversation.data} />
        <FailureNote
          error={conversation.error ?? unanswered.error}
          title="Could not load all details of the conversation"
          onRetry={() => void Promise.all([conversation, unanswered].map(({ refetch }) => refetch()))}
        />
        {unanswered.data?.lookedBackTo ? (
          <Text size="sm" c="dimmed" component="div">
            Turns without a reply are shown back to <Moment at={unanswered.data.lookedBackTo} />; older ones are not included.
          </Text>
        ) : null}
        <CancelOutcome cancel={cancel} />
        <Waiting for={messages} what="messages">
          {() =>
            rows.length > 0 ? (
              <KeepFolds>
                <div className={style['layout']} {...(openTurn === null ? {} : { 'data-open': true })}>
                  <MessageList
                    rows={rows}
                    messages={messages}
                    user={user ?? 'End user'}
                    agentId={agentId}
                    cancel={cancel}
                    openTurn={openTurn}
                    wanted={wanted}
                    onOpen={open}
                    onFind={find}
                  />
                  {openTurn === null ? null : <TurnBeside requestId={openTurn} takesFocus={takesFocus} onClose={close} />}
                </div>
              </KeepFolds>
            ) : (
              <NoMessages isErased={isErased} />
            )
          }
        </Waiting>
      </Stack>
      {asking === 'conversation' ? <EraseConversation conversationId={id} onErased={onErased} onClose={() => setAsking(null)} /> : null}
      {asking === 'end user' && agentId !== undefined && user !== null ? (
        <EraseEndUser agentId={agentId} externalUserId={user} onErased={onErased} onClose={() => setAsking(null)} />
      ) : null}
    </Page>
  )
}

/** What is open and what is searched for, in the address, so that a reply with its trace can be shared. */
function useAddress() {
  const [params, setParams] = useSearchParams()
  // A turn of the address alone leaves the focus where it is.
  const [takesFocus, setTakesFocus] = useState(false)
  const opener = useRef<Element>(null)
  const openTurn = params.get('turn')
  const wanted = params.get('q') ?? ''
  const write = (turn: string | null, q: string): void =>
    setParams({ ...(turn === null ? {} : { turn }), ...(q === '' ? {} : { q }) }, { replace: true })
  const close = (): void => {
    write(null, wanted)
    if (opener.current instanceof HTMLElement) opener.current.focus()
  }
  const open = useStable((requestId: string): void => {
    if (requestId === openTurn) return close()
    opener.current = document.activeElement
    setTakesFocus(true)
    write(requestId, wanted)
  })
  return { openTurn, wanted, takesFocus, open, close, find: (q: string) => write(openTurn, q) }
}

/** The same function in every render, so that rows are not rendered again. It is only called by events. */
function useStable<Args extends unknown[]>(run: (...args: Args) => void): (...args: Args) => void {
  const latest = useRef(run)
  useEffect(() => {
    latest.current = run
  })
  return useCallback((...args) => latest.current(...args), [])
}

/** Reloads the newest page when no turn is running any more; not if many pages are loaded, because all of them would be requested. */
function useRepliesOf(messages: Messages, isRunning: boolean): void {
  const wasRunning = useRef(isRunning)
  useEffect(() => {
    if (wasRunning.current && !isRunning && messages.data?.pages.length === 1) void messages.refetch()
    wasRunning.current = isRunning
  }, [isRunning, messages])
}

const NoMessages = ({ isErased }: { isErased: boolean }) =>
  isErased ? (
    <Empty title="This conversation was erased">
      Its messages and its end user ID were removed permanently. The ledger still lists the charges.
    </Empty>
  ) : (
    <Empty title="No messages">The conversation was erased, or none of its turns ended with a reply.</Empty>
  )

function Gone({ erased: { conversations, turns, messages } }: { erased: Erased }) {
  const queries = useQueryClient()
  // Erased text is also removed from this page's memory.
  useEffect(() => {
    for (const noun of ['conversations', 'turns']) queries.removeQueries({ queryKey: [noun] })
  }, [queries])
  return (
    <Page title="Erased">
      <Alert color="green" variant="light" title="The texts were removed permanently">
        Conversations: {writeCount(conversations)}. Turns: {writeCount(turns)}. Messages: {writeCount(messages)}. Usage and ledger are kept.
      </Alert>
      <Text>
        <Anchor component={Link} href="/conversations" underline="always">
          Back to conversations
        </Anchor>
      </Text>
    </Page>
  )
}
