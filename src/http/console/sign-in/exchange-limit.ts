/**
 * Which browsers may make this server ask the identity provider (`operator.guesses`). Anyone can start a sign-in and come back with a made-up
 * code, and each code costs a write to the store and a request with the secret of the client. Wrong ones make the next of the same address wait,
 * and a fixed number is exchanged at the same time. A browser in which an operator has signed in before has counts and slots of its own.
 */
import type { FastifyRequest } from 'fastify'
import type { AdminCalls } from '../../../admin/admin.ts'
import { networkOf } from '../guess-limit.ts'
import { createSignInGuesses } from '../sign-in-guesses.ts'

type MayExchange = Parameters<AdminCalls['verifyCompanyAccount']>[2]
type ExchangeLimit = (request: FastifyRequest) => MayExchange

// An exchange takes less than a second, and ten if the provider hangs. No address, and no browser, takes more than half of the slots.
const slots = 16
const slotsOfOne = 8

export function createExchangeLimit(monotonicMs: () => number): ExchangeLimit {
  const guesses = createSignInGuesses(monotonicMs)
  const known = createSlots()
  const others = createSlots()
  return ({ raw }) =>
    (knownBrowser) => {
      const address = raw.socket.remoteAddress ?? ''
      const free = knownBrowser === undefined ? others(networkOf(address)) : known(knownBrowser)
      if (!free) return undefined
      const guess = guesses.start({ account: undefined, address, knownBrowser })
      if ('waitSeconds' in guess) return void free()
      return {
        end(isVerified) {
          free()
          if (isVerified) guess.right()
        },
      }
    }
}

/** Returns a function that takes a slot for one holder. It returns what frees the slot, or undefined if none is left for this holder. */
function createSlots(): (holder: string) => (() => void) | undefined {
  const taken = new Map<string, number>()
  let all = 0
  return (holder) => {
    const own = taken.get(holder) ?? 0
    // mutant: operator.guesses-4
    if (all >= slots || own >= slotsOfOne) return undefined
    all++
    taken.set(holder, own + 1)
    return () => {
      all--
      const left = taken.get(holder)! - 1
      if (left > 0) taken.set(holder, left)
      else taken.delete(holder)
    }
  }
}
