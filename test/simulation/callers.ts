/**
 * Who sends messages and remembers every answer: one who was told a reply may ask for it again for 24 hours and be told the same, and what was
 * told as completed is stored. Judges only what a caller can see, and the book at that moment.
 */
import { isDeepStrictEqual } from 'node:util'
import type { StoredReply } from '../../src/store/turn-records.ts'
import type { BeginResult, TurnRequest } from '../../src/turn/outcome.ts'
import type { Accuse, StoreModel } from './store-model.ts'

/** How a message that was sent came out; `open`: no answer yet, or none ever, where its process died. */
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
        const leave = started.turn.listen((delta) => (heard += delta))
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
        `${requestId} was told as completed and is stored as ${turn?.state} with ${JSON.stringify(turn?.reply?.content)}`,
      )
    if (turn?.message !== one.request.message) accuse('reply-stored', `${requestId} answers another message`)
    const before = reported.get(requestId)
    if (before && !isDeepStrictEqual(before, reply)) accuse('replay', `${requestId} was told in two ways`)
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
