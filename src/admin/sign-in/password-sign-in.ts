/** Signing in with a password, and changing the own one (`operator.password`), and the cookie of a known browser (`operator.guesses`). */
import { ApiError, invalid } from '../../errors.ts'
import { passwordProblem } from '../../operators/passwords.ts'
import type { Passwords } from '../../operators/passwords.ts'
import type { SignedTokens } from '../../operators/signed-tokens.ts'
import type { Operator } from '../../store/queries/operators.ts'
import type { PerRequest } from '../admin-store.ts'
import { readEmail } from '../operators.ts'
import { wrongSignIn } from '../sessions.ts'
import { recentSignIn } from './recent-sign-in.ts'
import type { OwnSession } from './recent-sign-in.ts'

/**
 * Called before a password is checked. `knownBrowser` identifies a browser that has signed in to the account before. Throws ApiError
 * `rate_limit_exceeded` if the guess has to wait. Returns what to call if it is right.
 */
export type MayGuess = (account: string, knownBrowser: string | undefined) => () => void

export type PasswordSignIn = {
  /** Throws ApiError `unauthorized`, with the same message and after the same time for every reason, and `rate_limit_exceeded`. */
  checkPassword(given: { email: string; password: string; browser: string | undefined }, mayGuess: MayGuess): Promise<Operator>
  /** A text for a browser in which this operator has signed in, with which `checkPassword` recognizes it. */
  knownBrowser(operatorId: string): string
  /**
   * Sets the password of the operator who makes this request, and ends its other sessions. Without `current`, the sign-in must be recent.
   * Throws ApiError `forbidden`, `conflict` if it has a company account, and `validation_error` for a password that is not accepted.
   */
  changePassword(given: { current: string | undefined; next: string; session: OwnSession }, mayGuess: MayGuess): Promise<void>
}

type Options = { passwords: Passwords; tokens: SignedTokens }

export function createPasswordSignIn({ passwords, tokens }: Options): PerRequest<PasswordSignIn> {
  return {
    async checkPassword({ accounts: store }, { email: given, password, browser }, mayGuess) {
      const email = normalized(given)
      const found = await store.read.findOperatorByEmail(email)
      const known = found && browser !== undefined ? browserOf(tokens, browser, found.id) : undefined
      const order = known === undefined ? 'last' : 'first'
      // Only what is checked counts: guesses that are refused at once could otherwise make the counts of others be forgotten.
      // mutant: operator.guesses-3
      passwords.refuseIfFull(order)
      const right = mayGuess(email, known)
      const stored = found?.passwordHash ?? null
      const isRight = await passwords.matches(password, stored, order)
      if (!isRight || !found || stored === null || found.state !== 'active') throw new ApiError('unauthorized', wrongSignIn)
      right()
      if (passwords.isOutdated(stored)) await store.write.upgradePasswordHash(found.id, stored, await passwords.hash(password))
      return found
    },

    // It never expires: what it gives is a count of wrong guesses of its own.
    knownBrowser: (_request, id) => tokens.sign('browser', Number.MAX_SAFE_INTEGER, { operatorId: id }),

    async changePassword({ accounts: store, operatorId }, { current, next, session }, mayGuess) {
      const own = operatorId === undefined ? undefined : await store.read.findOperator(operatorId)
      if (!own) throw new ApiError('not_found', 'A token has no account.')
      if (own.hasCompanyAccount) throw new ApiError('conflict', 'You sign in with your company account, so you have no password here.')
      checkNewPassword('new_password', next, own)
      const before = (await store.read.findOperatorByEmail(own.email))?.passwordHash ?? null
      if (current === undefined) await recentSignIn(store, session)
      else {
        passwords.refuseIfFull('first')
        const right = mayGuess(own.email, session.id)
        if (!(await passwords.matches(current, before, 'first')))
          throw new ApiError('forbidden', 'current_password is wrong.', { param: 'current_password' })
        right()
      }
      const after = await passwords.hash(next)
      if (!(await store.write.setPassword({ operatorId: own.id, before, after, keepSession: session.id })))
        throw new ApiError('conflict', 'Your account was changed at the same time. Try again.')
    },
  }
}

/** Throws ApiError `validation_error` naming the field. */
export function checkNewPassword(field: string, password: string, operator: { email: string; name: string }): void {
  const problem = passwordProblem(password, operator)
  if (problem !== undefined) throw invalid(field, `${field} ${problem}.`)
}

/** A text that is not an email address belongs to no operator. It is not refused earlier, which would tell something about accounts. */
function normalized(email: string): string {
  try {
    return readEmail(email)
  } catch {
    return email.trim().toLowerCase()
  }
}

function browserOf(tokens: SignedTokens, text: string, id: string): string | undefined {
  const token = tokens.read('browser', text)
  return token?.content['operatorId'] === id ? Buffer.from(token.use.digest).toString('base64url') : undefined
}
