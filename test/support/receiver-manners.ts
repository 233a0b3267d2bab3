/**
 * What an operator's endpoint may do with a delivery, chosen by the ID and the number of the attempt, so that a run can be repeated. Only
 * first attempts fail, because a second failure in a row would take five minutes of the schedule.
 */
import { hash } from 'node:crypto'
import type { ServerResponse } from 'node:http'

export const manners = ['ok', 'error', 'close', 'redirect', 'slow', 'cut', 'hang'] as const
export type Manner = (typeof manners)[number]

/** Of 10,000 first attempts. The rest is answered. Those that hang occupy a slot for 20 seconds each. */
export type Shares = Partial<Record<Exclude<Manner, 'ok'>, number>>
export const usualShares: Shares = { error: 600, close: 300, redirect: 300, slow: 200, cut: 600, hang: 5 }

const slowMs = 500

export function mannerOf(id: string, attempt: number, shares: Shares): Manner {
  if (attempt > 1) return 'ok'
  let drawn = hash('sha256', id, 'buffer').readUInt32BE() % 10_000
  for (const [manner, share] of Object.entries(shares)) {
    if (drawn < share) return manner as Manner
    drawn -= share
  }
  return 'ok'
}

/** Whether the sender must take it as delivered. */
export const counts = (manner: Manner): boolean => manner === 'ok' || manner === 'slow' || manner === 'cut'

export function answer(manner: Manner, response: ServerResponse): void {
  switch (manner) {
    case 'ok':
      return void response.writeHead(204).end()
    case 'error':
      return void response.writeHead(503, { 'content-type': 'text/plain' }).end('not now')
    case 'close':
      return void response.destroy()
    case 'redirect':
      return void response.writeHead(307, { location: '/elsewhere' }).end()
    case 'slow':
      return void setTimeout(() => response.writeHead(200).end('late'), slowMs)
    case 'cut':
      response.writeHead(200, { 'content-length': '1000' })
      return void response.write('some', () => response.destroy())
    case 'hang':
      return undefined
  }
}
