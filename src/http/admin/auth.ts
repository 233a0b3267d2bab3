/**
 * Authenticates who calls the admin API: by the admin token, by a token for programs, or by the session cookie of the console. The admin token
 * is compared by digest in constant time, so timing reveals neither its length nor a prefix. Other tokens and sessions take one look-up of
 * their digest in the store. A cookie is ignored if the request also sends a token: a wrong token is always rejected (`session.origin`).
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { AdminCalls } from '../../admin/admin.ts'
import { ApiError } from '../../errors.ts'
import { adminTokenPrincipal } from '../../operators/principal.ts'
import type { Principal } from '../../operators/principal.ts'
import { tooManyGuesses } from './answers.ts'
import { Batcher } from '../../turn/batcher.ts'
import { readSessionSecret } from '../console/cookie.ts'
import { networkOf } from '../console/guess-limit.ts'
import type { GuessLimit } from '../console/guess-limit.ts'
import { countHeader } from '../edge/headers.ts'

export type Session = NonNullable<Awaited<ReturnType<AdminCalls['findSession']>>>['session']

/** Takes the same time for every wrong token. */
export type TokenCheck = (token: string) => boolean
/** Checks only the Authorization header. Rejects with ApiError `unauthorized`, or `rate_limit_exceeded`; see `createBrake`. */
export type TokenAuth = (request: IncomingMessage) => Promise<Principal>
/**
 * Resolves with the principal, and with the session if the request has a session cookie. Rejects with ApiError `unauthorized`, with the same
 * message for every reason, with `rate_limit_exceeded`, and with `service_unavailable` if the store cannot be reached.
 */
export type AdminAuth = (
  request: IncomingMessage,
) => Promise<{ principal: Principal; session: Session | undefined; credential: Credential | undefined }>
/** What a caller has shown. The admin token is not one, because it does not change while the server runs. */
export type Credential = { kind: 'session' | 'token'; text: string }

/** `adminToken` is undefined if it is switched off (`operator.admin-token`): then every token is wrong. */
export function createTokenCheck(adminToken: string | undefined): TokenCheck {
  if (adminToken === undefined) return () => false
  const expected = digest(adminToken)
  return (token) => timingSafeEqual(digest(token), expected)
}

// mutant: token-that-a-process-remembers
type FoundToken = Awaited<ReturnType<AdminCalls['findPrincipalsOfTokens']>> extends Map<string, infer Found> ? Found : never
type Known = Pick<AdminCalls, 'findSession' | 'findPrincipalsOfTokens'>

export function createTokenAuth(
  isAdminToken: TokenCheck,
  { findPrincipalsOfTokens }: Pick<Known, 'findPrincipalsOfTokens'>,
  brake: Brake,
): TokenAuth {
  // Together, also those of one token, so that hundreds of requests of a program do not occupy the store. A look-up starts after its request
  // has come, so it knows of every revocation before.
  const lookUps = new Batcher<string, { kind: 'looked-up'; found: FoundToken | undefined }>(
    async (tokens) => {
      const known = await findPrincipalsOfTokens(tokens)
      return tokens.map((token) => ({ kind: 'looked-up', found: known.get(token) }))
    },
    () => [],
  )
  return async (request) => {
    const token = tokenOf(request)
    if (token === undefined) throw new ApiError('unauthorized')
    if (isAdminToken(token)) return adminTokenPrincipal
    const { found } = await lookUps.push(token)
    if (!found) return brake.refuse(request)
    await found.recordUse?.()
    return found.principal
  }
}

export function createAdminAuth(isAdminToken: TokenCheck, known: Known, brake: Brake): AdminAuth {
  const byToken = createTokenAuth(isAdminToken, known, brake)
  return async (request) => {
    const secret = request.headers.authorization === undefined ? readSessionSecret(request) : undefined
    if (secret === undefined) {
      const principal = await byToken(request)
      const text = principal.who === 'token' ? tokenOf(request) : undefined
      return { principal, session: undefined, credential: text === undefined ? undefined : { kind: 'token', text } }
    }
    const found = (await known.findSession(secret)) ?? (await brake.refuse(request))
    return { ...found, credential: { kind: 'session', text: secret } }
  }
}

function tokenOf(request: IncomingMessage): string | undefined {
  // Of two such headers Node keeps the first, while a proxy in front may have checked the second.
  const header = countHeader(request, 'authorization') === 1 ? request.headers.authorization : undefined
  // The scheme is case-insensitive (`order.authentication`).
  return /^bearer +(\S+) *$/i.exec(header ?? '')?.[1]
}

/** Slows down programs that send wrong admin tokens or session secrets (`admin.guesses`). */
export type Brake = {
  /**
   * Rejects with `unauthorized`: immediately for the first wrong guesses of an address, then after a second. Rejects with
   * `rate_limit_exceeded` while several wrong guesses of this address wait for their response.
   */
  refuse(request: IncomingMessage): Promise<never>
}

const brakeMs = 1000
// mutant: admin.guesses
const maxDelayed = 8

/**
 * Only called for what has been compared and is wrong. A right token or session is never delayed or refused because of wrong ones, because
 * behind a proxy everyone has the same address, and no one must be able to lock out the operator. The limit is no protection against
 * guessing, which the randomness of tokens is: it reduces what a program with an old token costs.
 */
export function createBrake(guesses: Pick<GuessLimit, 'waitSeconds' | 'wrong'>): Brake {
  const delayed = new Map<string, number>()
  return {
    async refuse({ socket }) {
      const address = addressOf(socket)
      if ((delayed.get(address) ?? 0) >= maxDelayed) throw new ApiError('rate_limit_exceeded', tooManyGuesses, { retryAfterSeconds: 1 })
      guesses.wrong(address)
      if (guesses.waitSeconds(address) !== undefined) {
        delayed.set(address, (delayed.get(address) ?? 0) + 1)
        await delay(brakeMs)
        const left = delayed.get(address)! - 1
        if (left > 0) delayed.set(address, left)
        else delayed.delete(address)
      }
      throw new ApiError('unauthorized')
    },
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
const addressOf = ({ remoteAddress }: Socket): string => networkOf(remoteAddress ?? '')
