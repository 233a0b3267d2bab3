/**
 * Tokens of the admin API for programs: `svc_admin_<secret>`, with a role, an optional restriction and an optional end. A token is only in the
 * response to the request that created it; the store keeps a digest (`operator.token`).
 */
import { hash } from 'node:crypto'
import type { RandomBytes } from '../access/api-key.ts'
import { ApiError, invalid } from '../errors.ts'
import type { Ids } from '../ids.ts'
import type { Principal } from '../operators/principal.ts'
import type { AdminToken, GivenAdminToken } from '../resources/admin-token.ts'
import { pageOf, pageRequest } from '../store/queries/paging.ts'
import type { Page, PageWanted } from '../store/queries/paging.ts'
import type { AdminStore, PerRequest } from './admin-store.ts'
import { principalOf } from './sessions.ts'

/** `recordUse`: to the minute; undefined if it was recorded a moment ago. However often it is called, it writes once. */
export type FoundToken = { principal: Principal; recordUse: (() => Promise<void>) | undefined }

export type AdminTokensAdmin = {
  /** `text` is shown only once. Throws ApiError `validation_error` for an unknown owner or agent, and for an end that has passed. */
  createAdminToken(given: GivenAdminToken): Promise<AdminToken & { text: string }>
  /** Newest first, with revoked and expired ones. */
  listAdminTokens(page: PageWanted): Promise<Page<AdminToken>>
  /** Throws ApiError `not_found`. */
  findAdminToken(id: string): Promise<AdminToken>
  /** Takes effect immediately on every process. Revoking again has no effect. Throws ApiError `not_found`. */
  revokeAdminToken(id: string): Promise<void>
  /** Who these tokens are, with one read. Leaves out texts that are not tokens, and tokens that were revoked or have expired. */
  findPrincipalsOfTokens(texts: string[]): Promise<Map<string, FoundToken>>
}

const prefix = 'svc_admin_'
const form = /^svc_admin_[\w-]{43}$/
const usedEveryMs = 60_000
const digest = (text: string): Uint8Array => hash('sha256', `admin token ${text}`, 'buffer')

type Options = { newId: Ids['newId']; randomBytes: RandomBytes }

export function createAdminTokensAdmin({ newId, randomBytes }: Options): PerRequest<AdminTokensAdmin> {
  function foundToken(store: AdminStore, token: AdminToken & { now: number }): FoundToken {
    let recorded: Promise<void> | undefined
    const recordUse = (): Promise<void> => (recorded ??= store.write.touchAdminToken(token.id))
    const isDue = token.lastUsedAt === null || token.now - token.lastUsedAt >= usedEveryMs
    return { principal: principalOf('token', token), recordUse: isDue ? recordUse : undefined }
  }

  return {
    async createAdminToken({ store }, given) {
      const text = prefix + Buffer.from(randomBytes(32)).toString('base64url')
      const outcome = await store.write.createAdminToken({ ...given, id: newId('tok'), digest: digest(text) })
      switch (outcome.kind) {
        case 'created':
          return { ...outcome.token, text }
        case 'owner_not_found':
          throw invalid('owner_id', 'owner_id: this owner does not exist.')
        case 'agent_not_found':
          throw invalid('agent_id', 'agent_id: this agent does not exist, or belongs to another owner than owner_id.')
        case 'expires_too_early':
          throw invalid('expires_at', 'expires_at must be in the future.')
      }
    },

    listAdminTokens: async ({ store }, page) => pageOf(await store.read.listAdminTokens(pageRequest(page)), page),

    async findAdminToken({ store }, id) {
      const token = await store.read.findAdminToken(id)
      if (!token) throw noSuchToken()
      return token
    },

    async revokeAdminToken({ store }, id) {
      if ((await store.write.revokeAdminToken(id)) === undefined) throw noSuchToken()
    },

    async findPrincipalsOfTokens({ store }, texts) {
      const tokens = texts.filter((text) => form.test(text))
      if (tokens.length === 0) return new Map()
      const found = await store.read.findValidAdminTokens(tokens.map(digest))
      return new Map(tokens.flatMap((text, at) => (found[at] ? [[text, foundToken(store, found[at])] as const] : [])))
    },
  }
}

const noSuchToken = (): ApiError => new ApiError('not_found', 'This token does not exist.')
