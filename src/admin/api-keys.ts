/** API keys of an agent. A secret is only in the response to the request that created it. The store keeps its digest. */
import { digestSecret, makeApiKey } from '../access/api-key.ts'
import type { RandomBytes } from '../access/api-key.ts'
import { ApiError } from '../errors.ts'
import { maxSecretsPerKey } from '../store/queries/api-keys.ts'
import type { ApiKey, ApiKeyChange, GivenApiKey } from '../resources/api-key.ts'
import type { ApiKeyOutcome } from '../store/queries/api-key-records.ts'
import { pageOf, pageRequest } from '../store/queries/paging.ts'
import type { Page, PageWanted } from '../store/queries/paging.ts'
import type { PerRequest } from './admin-store.ts'
import type { Ids } from '../ids.ts'

/** `text` is the whole key, shown only once. */
export type ApiKeyShown = ApiKey & { text: string }

/** Each throws ApiError `not_found` if the agent or the key does not exist, and `conflict` for a change of a revoked key. */
export type ApiKeysAdmin = {
  createApiKey(given: GivenApiKey & { agentId: string }): Promise<ApiKeyShown>
  /** Newest first, including revoked keys. */
  listApiKeys(agentId: string, page: PageWanted): Promise<Page<ApiKey>>
  changeApiKey(id: string, change: ApiKeyChange): Promise<ApiKey>
  /** Permanent, on every process within one second. Revoking again has no effect. */
  revokeApiKey(id: string): Promise<void>
  /** `conversation.identity`: a new secret for the same key. The previous one stays valid for `graceSeconds`. */
  rotateApiKey(id: string, graceSeconds: number): Promise<ApiKeyShown>
}

type Options = { newId: Ids['newId']; randomBytes: RandomBytes }

export function createApiKeysAdmin({ newId, randomBytes }: Options): PerRequest<ApiKeysAdmin> {
  return {
    async createApiKey({ store }, given) {
      const { keyId, secret, text } = makeApiKey(randomBytes)
      const record = await store.write.createApiKey({ ...given, id: newId('key'), keyId, digest: digestSecret(secret) })
      if (!record) throw new ApiError('not_found', 'This agent does not exist.')
      return { ...record, text }
    },
    async listApiKeys({ store }, agentId, page) {
      if (!(await store.read.findAgent(agentId))) throw new ApiError('not_found', 'This agent does not exist.')
      return pageOf(await store.read.listApiKeys(agentId, pageRequest(page)), page)
    },
    changeApiKey: async ({ store }, id, change) => changed(await store.write.changeApiKey(id, change)),
    async revokeApiKey({ store }, id) {
      if ((await store.write.revokeApiKey(id)) === 'not_found') throw noSuchKey()
    },
    async rotateApiKey({ store }, id, graceSeconds) {
      const record = await store.read.findApiKeyRecord(id)
      if (!record) throw noSuchKey()
      const { secret, text } = makeApiKey(randomBytes, record.keyId)
      const outcome = await store.write.rotateApiKey(id, digestSecret(secret), graceSeconds * 1000)
      if (outcome.kind === 'too_many_secrets') throw tooManySecrets('API key', maxSecretsPerKey, outcome.endsAt)
      return { ...changed(outcome), text }
    },
  }
}

function changed(outcome: ApiKeyOutcome): ApiKey {
  switch (outcome.kind) {
    case 'changed':
      return outcome.apiKey
    case 'not_found':
      throw noSuchKey()
    case 'revoked':
      throw new ApiError('conflict', 'This API key is revoked and cannot be changed.')
  }
}

export const tooManySecrets = (what: string, max: number, endsAt: number): ApiError =>
  new ApiError(
    'conflict',
    `This ${what} has ${max} valid secrets, the maximum. The first old one ends at ${new Date(endsAt).toISOString()}. Rotate again after that, or with grace_seconds 0, which ends all old secrets immediately.`,
  )

const noSuchKey = (): ApiError => new ApiError('not_found', 'This API key does not exist.')
