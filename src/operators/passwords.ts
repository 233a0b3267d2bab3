/**
 * Passwords of operators: which are accepted, and their scrypt hashes (`operator.password`). One hash takes 64 MiB and a third of a second, so
 * one is computed at a time and few may wait: a flood of sign-ins takes neither the memory nor the processor of a turn.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../errors.ts'
import { commonPasswords } from './common-passwords.ts'

/** `first`: for someone who is known, before all who are not. */
export type HashOrder = 'first' | 'last'

/** Each throws ApiError `rate_limit_exceeded` if too many hashes wait. */
export type Passwords = {
  /** Returns what the store keeps: the algorithm with its parameters, the salt and the hash. */
  hash(password: string): Promise<string>
  /** `stored` is null for an account without a password or that does not exist: takes the same time and returns false. */
  matches(password: string, stored: string | null, order: HashOrder): Promise<boolean>
  /** Throws ApiError `rate_limit_exceeded` if the next hash of this order would be refused. */
  refuseIfFull(order: HashOrder): void
  /** Whether the hash was made with other parameters than a new one. */
  isOutdated(stored: string): boolean
}

/** Of scrypt; `logN` is the exponent of N. */
export type PasswordCost = { logN: number; r: number; p: number }
type Stored = PasswordCost & { salt: Buffer; key: Buffer }

// 64 MiB for each hash, which OWASP recommends with these parameters. N is a power of two, and its exponent is stored.
const current: PasswordCost = { logN: 16, r: 8, p: 2 }
const saltBytes = 16
const keyBytes = 32
// Five seconds of work for those who are known, and as much again for all others.
// mutant: operator.password
const maxWaiting = 16
const busySeconds = 5

const minLength = 12
const maxLength = 256

/** The same password, however a keyboard composes its characters. */
const normalized = (password: string): string => password.normalize('NFKC')

/** Returns why an operator cannot have this password, and undefined if it can. */
export function passwordProblem(password: string, operator: { email: string; name: string }): string | undefined {
  const characters = [...normalized(password)]
  if (characters.length < minLength) return `must have at least ${minLength} characters`
  if (characters.length > maxLength) return `must have at most ${maxLength} characters`
  const lower = normalized(password).toLowerCase()
  if (commonPasswords.has(lower)) return 'is one of the most common passwords; choose another one'
  if (isMonotonous(characters)) return 'repeats or counts a few characters; choose another one'
  const { email, name } = operator
  const known = [email, email.split('@')[0]!, name].map(letters).filter((one) => one.length > 0)
  if (known.includes(letters(lower))) return 'must not be your name or your email address'
  return undefined
}

/** Fewer than five different characters, or each is the next or the previous one of the character before it. */
function isMonotonous(characters: string[]): boolean {
  if (new Set(characters).size < 5) return true
  const steps = new Set(characters.slice(1).map((character, index) => character.codePointAt(0)! - characters[index]!.codePointAt(0)!))
  // 9 is followed by 0.
  steps.delete(-9)
  steps.delete(9)
  return steps.size === 1 && (steps.has(1) || steps.has(-1))
}

/** Only the letters, so that digits and punctuation at either end do not make another word. */
const letters = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}]/gu, '')

export function createPasswords(parameters: PasswordCost = current): Passwords {
  const queue = createQueue()
  // What a wrong account is compared with.
  const noAccount = { ...parameters, salt: randomBytes(saltBytes), key: randomBytes(keyBytes) }
  return {
    async hash(password) {
      const salt = randomBytes(saltBytes)
      const key = await queue.run('first', () => derive(password, { ...parameters, salt }))
      return write({ ...parameters, salt, key })
    },
    async matches(password, stored, order) {
      const known = stored === null ? noAccount : read(stored)
      const key = await queue.run(order, () => derive(password, known))
      return timingSafeEqual(key, known.key) && stored !== null
    },
    refuseIfFull: (order) => queue.refuseIfFull(order),
    isOutdated(stored) {
      const { logN, r, p } = read(stored)
      return logN !== parameters.logN || r !== parameters.r || p !== parameters.p
    },
  }
}

function derive(password: string, { logN, r, p, salt }: PasswordCost & { salt: Buffer }): Promise<Buffer> {
  const N = 2 ** logN
  // Of the blocks that scrypt mixes, and of its working memory.
  const maxmem = 128 * r * (N + p + 2) + 1024
  return new Promise((resolve, reject) => {
    scrypt(normalized(password), salt, keyBytes, { N, r, p, maxmem }, (error, key) => (error ? reject(error) : resolve(key)))
  })
}

const write = ({ logN, r, p, salt, key }: Stored): string =>
  ['scrypt', logN, r, p, salt.toString('base64url'), key.toString('base64url')].join('$')

function read(stored: string): Stored {
  const match = /^scrypt\$(\d{1,2})\$(\d{1,3})\$(\d{1,3})\$([\w-]{22})\$([\w-]{43})$/.exec(stored)
  if (!match) throw new Error('a stored password hash has an unknown format')
  const [, logN, r, p, salt = '', key = ''] = match
  return { logN: Number(logN), r: Number(r), p: Number(p), salt: Buffer.from(salt, 'base64url'), key: Buffer.from(key, 'base64url') }
}

/** Runs one task at a time. Both throw ApiError `rate_limit_exceeded` if too many of the same order wait. */
type Queue = {
  run<Result>(order: HashOrder, task: () => Promise<Result>): Promise<Result>
  refuseIfFull(order: HashOrder): void
}

function createQueue(): Queue {
  const waiting: Record<HashOrder, (() => void)[]> = { first: [], last: [] }
  let isBusy = false
  const next = (): void => {
    const start = waiting.first.shift() ?? waiting.last.shift()
    if (start) start()
    else isBusy = false
  }
  const refuseIfFull = (order: HashOrder): void => {
    if (isBusy && waiting[order].length >= maxWaiting)
      throw new ApiError('rate_limit_exceeded', 'Too many people are signing in. Try again in a few seconds.', {
        retryAfterSeconds: busySeconds,
      })
  }
  return {
    refuseIfFull,
    async run(order, task) {
      refuseIfFull(order)
      if (isBusy) await new Promise<void>((resolve) => waiting[order].push(resolve))
      isBusy = true
      try {
        return await task()
      } finally {
        next()
      }
    },
  }
}
