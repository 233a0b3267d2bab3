/**
 * Tokens of the admin API for programs: `svc_admin_<secret>`, with a role, an optional restriction and an optional end. A token is only in the
 * response to the request that created it; the store keeps a digest (`operator.token`).
 */
import { hash } from 'node:crypto'
import type { RandomBytes } from '../access/api-key.ts'
import { ApiError } from '../errors.ts'
import type { Ids } from '../ids.ts'
import type { ExtraPermission, Principal, Role } from '../operators/principal.ts'
import type { AdminToken } from '../store/queries/admin-tokens.ts'
import { pageOf, pageRequest } from '../store/queries/paging.ts'
import type { Page, PageWanted } from '../store/queries/paging.ts'
import { Batcher } from '../turn/batcher.ts'
import type { AdminStore } from './admin-store.ts'
import { principalOf } from './sessions.ts'

export type NewAdminToken = {
  name: string
  role: Role
  permissions: ExtraPermission[]
  ownerId: string | null
  agentId: string | null
  expiresAt: number | null
}

export type AdminTokensAdmin = {
  /** `text` is shown only once. Throws ApiError `validation_error` for an unknown owner or agent, and for an end that has passed. */
  createAdminToken(given: NewAdminToken): Promise<AdminToken & { text: string }>
  /** Newest first, with revoked and expired ones. */
  listAdminTokens(page: PageWanted): Promise<Page<AdminToken>>
  /** Throws ApiError `not_found`. */
  findAdminToken(id: string): Promise<AdminToken>
  /** Takes effect immediately on every process. Revoking again has no effect. Throws ApiError `not_found`. */
  revokeAdminToken(id: string): Promise<void>
  /** Returns undefined for a text that is no token, or one that was revoked or has expired. Records the use, to the minute. */
  findPrincipalOfToken(text: string): Promise<Principal | undefined>
  /** For open responses: who these tokens are now, with one read. Records no use. */
  findPrincipalsOfTokens(texts: string[]): Promise<Map<string, Principal>>
}

const prefix = 'svc_admin_'
const form = /^svc_admin_[\w-]{43}$/
// mutant: token-that-a-process-remembers
const usedEveryMs = 60_000
const digest = (text: string): Uint8Array => hash('sha256', `admin token ${text}`, 'buffer')

export type TokenLookUps = { find(digest: Uint8Array): Promise<AdminToken | undefined> }

/**
 * Looks up together what is asked for at the same time, also the same token, so that hundreds of requests of one program do not occupy the
 * store. A look-up starts after its request, so it knows of every revocation before. Records the use of a token, to the minute.
 */
export function createTokenLookUps({ read, write }: Pick<AdminStore, 'read' | 'write'>): TokenLookUps {
  const lookUps = new Batcher<Uint8Array, { kind: 'looked-up'; token: AdminToken | undefined }>(
    async (digests) => {
      const found = await read.findValidAdminTokens(digests)
      const unused = found.filter((token) => token && (token.lastUsedAt === null || token.now - token.lastUsedAt >= usedEveryMs))
      for (const id of new Set(unused.map((token) => token!.id))) await write.touchAdminToken(id)
      return found.map((token) => ({ kind: 'looked-up', token }))
    },
    () => [],
  )
  return { find: async (digest) => (await lookUps.push(digest)).token }
}

type Options = { store: AdminStore; newId: Ids['newId']; randomBytes: RandomBytes; tokenLookUps: TokenLookUps }

export function createAdminTokensAdmin({ store, newId, randomBytes, tokenLookUps }: Options): AdminTokensAdmin {
  return {
    async createAdminToken(given) {
      const text = prefix + Buffer.from(randomBytes(32)).toString('base64url')
      const outcome = await store.write.createAdminToken({ ...given, id: newId('tok'), digest: digest(text) })
      switch (outcome.kind) {
        case 'created':
          return { ...outcome.token, text }
        case 'owner_not_found':
          throw new ApiError('validation_error', 'owner_id: this owner does not exist.')
        case 'agent_not_found':
          throw new ApiError('validation_error', 'agent_id: this agent does not exist, or belongs to another owner than owner_id.')
        case 'expires_too_early':
          throw new ApiError('validation_error', 'expires_at must be in the future.')
      }
    },

    listAdminTokens: async (page) => pageOf(await store.read.listAdminTokens(pageRequest(page)), page),

    async findAdminToken(id) {
      const token = await store.read.findAdminToken(id)
      if (!token) throw noSuchToken()
      return token
    },

    async revokeAdminToken(id) {
      if ((await store.write.revokeAdminToken(id)) === undefined) throw noSuchToken()
    },

    async findPrincipalOfToken(text) {
      if (!form.test(text)) return undefined
      const token = await tokenLookUps.find(digest(text))
      return token && principalOf('token', token)
    },

    async findPrincipalsOfTokens(texts) {
      if (texts.length === 0) return new Map()
      const found = await store.read.findValidAdminTokens(texts.map(digest))
      return new Map(texts.flatMap((text, at) => (found[at] ? [[text, principalOf('token', found[at])] as const] : [])))
    },
  }
}

const noSuchToken = (): ApiError => new ApiError('not_found', 'This token does not exist.')
