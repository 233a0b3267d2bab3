/**
 * The simulated callers: they send messages and record every response. The checks here use only what a caller can see and the store model
 * at that moment: a completed reply must be stored, and asking for it again within 24 hours must return the same reply.
 */
import { isDeepStrictEqual } from 'node:util'
import type { StoredReply } from '../../src/store/turn-records.ts'
import type { BeginResult, RunningTurn, TurnRequest } from '../../src/turn/outcome.ts'
import type { LiveTurn } from '../../src/turn/live-turn.ts'
import { textStart } from '../../src/turn/turn-text.ts'
import type { TextPosition } from '../../src/turn/turn-text.ts'
import type { Accuse, StoreModel } from './store-model.ts'

/** The outcome of one sent message. `open`: no response yet, or none at all because the process that had the request died. */
export type Answer =
  | { kind: 'open' }
  | { kind: 'reply'; reply: StoredReply }
  | { kind: 'failed'; requestId: string; code: string }
  | { kind: 'refused'; code: string }

export type Sent = { request: TurnRequest; answer: Answer; requestId?: string }
/** What someone has seen of a turn by following it, over all connections. */
export type Following = {
  requestId: string
  text: string
  position: TextPosition
  ended: boolean
  /** The process that it is connected to. Undefined: it has disconnected. */
  processRun: { alive: boolean } | undefined
  /** A new connection ends the one before it. */
  connections: number
}

export function createCallers({ storeModel, accuse }: { storeModel: StoreModel; accuse: Accuse }) {
  const sent: Sent[] = []
  const reported = new Map<string, StoredReply>()
  const followings: Following[] = []

  function hear(one: Sent, started: BeginResult, leaves: boolean): void {
    switch (started.kind) {
      case 'replay':
        return hearReply(one, started.reply)
      case 'replayed_failure':
        one.answer = { kind: 'failed', requestId: started.requestId, code: started.code }
        return
      case 'refused':
        one.answer = { kind: 'refused', code: started.code }
        return
      case 'message_too_long':
        one.answer = { kind: 'refused', code: started.kind }
        return
      case 'running': {
        one.requestId = started.turn.requestId
        checkDurable(started.turn as LiveTurn)
        let heard = ''
        const leave = started.turn.listen({ onText: (text) => (heard += text), onReset: () => (heard = '') })
        if (leaves) return leave()
        void started.turn.end.then((end) => {
          if (end.kind === 'failed') {
            one.answer = { kind: 'failed', requestId: started.turn.requestId, code: end.code }
            return
          }
          hearReply(one, end.reply)
          if (heard !== end.reply.content) accuse('deltas', `${started.turn.requestId}: heard "${heard}", stored "${end.reply.content}"`)
        })
      }
    }
  }

  /** `turn.durable-first` */
  function checkDurable({ requestId, admitted: { run } }: LiveTurn): void {
    const turn = storeModel.turns.get(requestId)
    if (!turn || turn.run < run) accuse('durable-first', `${requestId} run ${run} was returned as running and is not stored`)
  }

  function hearReply(one: Sent, reply: StoredReply): void {
    const { requestId } = reply
    const turn = storeModel.turns.get(requestId)
    one.answer = { kind: 'reply', reply }
    if (turn?.state !== 'completed' || !isDeepStrictEqual(turn.reply, reply))
      accuse(
        'reply-stored',
        `${requestId} was returned as completed and is stored as ${turn?.state} with ${JSON.stringify(turn?.reply?.content)}`,
      )
    if (turn?.message !== one.request.message) accuse('reply-stored', `${requestId} answers another message`)
    const before = reported.get(requestId)
    if (before && !isDeepStrictEqual(before, reply)) accuse('replay', `${requestId} was returned in two ways`)
    reported.set(requestId, reply)
  }

  /** Follows a turn after what an earlier connection has seen, as a client that reconnects. `leaves`: it disconnects at the next text. */
  function follow(turn: RunningTurn, processRun: Following['processRun'], seen: Following | undefined, leaves: boolean): void {
    const following = seen ?? { requestId: turn.requestId, text: '', position: textStart, ended: false, processRun, connections: 0 }
    following.processRun = leaves ? undefined : processRun
    if (!seen) followings.push(following)
    const connection = ++following.connections
    let left = false
    const isOver = (): boolean => left || following.connections !== connection
    const leave = turn.listen(
      {
        onText(text, position) {
          if (isOver()) return
          following.text += text
          following.position = position
          left = leaves
        },
        onReset() {
          if (!isOver()) Object.assign(following, { text: '', position: textStart })
        },
      },
      following.position,
    )
    if (leaves) return leave()
    void turn.end.then((end) => {
      if (isOver()) return
      // A released turn may run again, and its followers come back.
      if (end.kind === 'failed' && (end.state === 'released' || end.state === null)) return void (following.processRun = undefined)
      following.ended = true
      if (end.kind === 'completed' && following.text !== end.reply.content)
        accuse('follow', `${turn.requestId}: "${following.text}" was shown, and the reply is "${end.reply.content}"`)
    })
  }

  return {
    follow,
    followings,
    sent,
    reported,
    hear,
    send(request: TurnRequest): Sent {
      const one: Sent = { request, answer: { kind: 'open' } }
      sent.push(one)
      return one
    },
  }
}
