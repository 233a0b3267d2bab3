/** `operator.guesses` for one request: what a check of a password has to ask first. */
import type { FastifyRequest } from 'fastify'
import type { AdminCalls } from '../../../admin/admin.ts'
import { ApiError } from '../../../errors.ts'
import { createSignInGuesses } from '../sign-in-guesses.ts'

type MayGuess = Parameters<AdminCalls['checkPassword']>[1]
export type PasswordLimit = (request: FastifyRequest) => MayGuess

const tooMany =
  'Too many wrong passwords for this account or from this address. Try again later, use a browser in which you have signed in before, or sign in another way.'

export function createPasswordLimit(monotonicMs: () => number): PasswordLimit {
  const guesses = createSignInGuesses(monotonicMs)
  return ({ raw }) =>
    (account, knownBrowser) => {
      const guess = guesses.start({ account, address: raw.socket.remoteAddress ?? '', knownBrowser })
      if ('waitSeconds' in guess) throw new ApiError('rate_limit_exceeded', tooMany, { retryAfterSeconds: guess.waitSeconds })
      return () => guess.right()
    }
}
