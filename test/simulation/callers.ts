/**
 * The simulated callers: they send messages and record every response. The checks here use only what a caller can see and the store model
 * at that moment: a completed reply must be stored, and asking for it again within 24 hours must return the same reply.
 */
import { isDeepStrictEqual } from 'node:util'
import type { StoredReply } from '../../src/store/turn-records.ts'
import type { BeginResult, TurnRequest } from '../../src/turn/outcome.ts'
import type { Accuse, StoreModel } from './store-model.ts'

/** The outcome of one sent message. `open`: no response yet, or none at all because the process that had the request died. */
export type Answer =
  | { kind: 'open' }
  | { kind: 'reply'; reply: StoredReply }
  | { kind: 'failed'; requestId: string; code: string }
  | { kind: 'refused'; code: string }

export type Sent = { request: TurnRequest; answer: Answer }

export function createCallers({ storeModel, accuse }: { storeModel: StoreModel; accuse: Accuse }) {
  const sent: Sent[] = []
  const reported = new Map<string, StoredReply>()

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

  return {
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
