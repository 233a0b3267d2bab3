/** The messages of this visit. Each has one reply, or two to compare; each reply is a turn or a preview. */
import { useEffect, useState } from 'react'
import { randomId } from '../../api/random-id.ts'
import { useExchanges } from './exchanges.ts'
import type { Exchange, Exchanges } from './exchanges.ts'
import { usePreviews } from './previews.ts'
import type { PreviewRun, Previews } from './previews.ts'
import { turnIndexOf } from './settings.ts'
import type { Setting } from './settings.ts'

/** `key`: the Idempotency-Key of a turn, or the ID of a preview. */
export type Side = { kind: 'turn' | 'preview'; key: string; setting: Setting }
export type Round = { id: string; message: string; at: string; sides: Side[] }

export type Shown = { kind: 'turn'; requestId: string } | { kind: 'preview'; id: string }

export type Rounds = {
  all: Round[]
  exchanges: Exchanges
  previews: Previews
  /** Whether a reply is awaited. */
  reading: boolean
  send(message: string, settings: readonly Setting[]): void
  stop(): void
  /** Removes a message without a stored reply, and returns its text. */
  takeBack(round: Round): string
}

export function useRounds(agentId: string, externalUserId: string, onShow: (shown: Shown) => void): Rounds {
  const [all, setAll] = useState<Round[]>([])
  const exchanges = useExchanges(agentId, externalUserId, (requestId) => onShow({ kind: 'turn', requestId }))
  const previews = usePreviews(agentId, externalUserId)
  useWaitingPreviews(all, exchanges.all, previews)
  return {
    all,
    exchanges,
    previews,
    reading: exchanges.reading || previews.running,
    send(message, settings) {
      const id = randomId()
      const turnIndex = turnIndexOf(settings)
      const sides = settings.map((setting, index): Side => {
        if (index === turnIndex) return { kind: 'turn', key: exchanges.send(message), setting }
        const key = `${id} ${index}`
        previews.add({ id: key, message, setting })
        return { kind: 'preview', key, setting }
      })
      setAll((before) => [...before, { id, message, at: new Date().toISOString(), sides }])
      const first = sides.find(({ kind }) => kind === 'preview')
      if (first && sides.every(({ kind }) => kind === 'preview')) onShow({ kind: 'preview', id: first.key })
    },
    stop() {
      if (exchanges.reading) exchanges.stop()
      previews.stop()
    },
    takeBack(round) {
      setAll((before) => before.filter(({ id }) => id !== round.id))
      for (const { kind, key } of round.sides) if (kind === 'turn') exchanges.takeBack(key)
      return round.message
    },
  }
}

/** A preview beside a turn starts when the turn has been admitted, so that both have the same history. */
function useWaitingPreviews(rounds: Round[], exchanges: Exchange[], previews: Previews): void {
  useEffect(() => {
    for (const run of previews.all) {
      if (run.state !== 'waiting') continue
      const turn = turnBeside(run, rounds)
      if (turn === undefined) previews.start(run)
      else startAfter(exchanges.find(({ idempotencyKey }) => idempotencyKey === turn))
      function startAfter(exchange: Exchange | undefined): void {
        if (exchange?.state === 'sending' || exchange?.state === 'awaiting') return
        const wasAdmitted = exchange && exchange.state !== 'refused' && exchange.state !== 'lost' && exchange.requestId !== null
        previews.start(run, wasAdmitted ? exchange.requestId! : undefined)
      }
    }
  }, [rounds, exchanges, previews])
}

function turnBeside({ id }: PreviewRun, rounds: Round[]): string | undefined {
  const round = rounds.find(({ sides }) => sides.some(({ key }) => key === id))
  return round?.sides.find(({ kind }) => kind === 'turn')?.key
}
