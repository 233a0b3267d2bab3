/**
 * The playground's key of an agent: the built-in row by which the operator's own messages are turns like any other, billed like any other.
 * It has no secret, so nobody can authenticate with it. Surfaces: POST /agents/{id}/playground.
 */
import { makeApiKey } from '../../access/api-key.ts'
import type { RandomBytes } from '../../access/api-key.ts'
import { ApiError } from '../../errors.ts'
import type { Ids } from '../../ids.ts'
import type { AdminStore } from '../admin-store.ts'

export type PlaygroundAdmin = {
  /** Made at the first call; answers its id. Throws ApiError `not_found` for an agent that is unknown or deleted. */
  openPlayground(agentId: string): Promise<string>
}

type Options = { store: AdminStore; newId: Ids['newId']; randomBytes: RandomBytes }

export function createPlaygroundAdmin({ store, newId, randomBytes }: Options): PlaygroundAdmin {
  return {
    async openPlayground(agentId) {
      for (;;) {
        const found = await store.read.findPlaygroundKey(agentId)
        switch (found.kind) {
          case 'found':
            return found.apiKeyId
          case 'agent_not_found':
            throw new ApiError('not_found', 'This agent does not exist.')
          case 'no_key_yet':
            // The secret that comes with it is dropped here: its digest is stored nowhere.
            await store.write.createPlaygroundKey({ id: newId('key'), keyId: makeApiKey(randomBytes).keyId, agentId })
        }
      }
    },
  }
}
