/**
 * The playground key of an agent: a built-in row that makes the operator's own messages normal, billed turns. It has no secret, so it
 * cannot be used to authenticate. The turns do not say who sent their messages, so the audit log does (`audit.trials`).
 */
import { makeApiKey } from '../../access/api-key.ts'
import type { RandomBytes } from '../../access/api-key.ts'
import { ApiError } from '../../errors.ts'
import type { Ids } from '../../ids.ts'
import type { PerRequest } from '../admin-store.ts'

export type PlaygroundAdmin = {
  /** For one message. Creates the key at the first call. Returns its ID. Throws ApiError `not_found` for an agent that does not exist or was deleted. */
  openPlayground(agentId: string): Promise<string>
}

type Options = { newId: Ids['newId']; randomBytes: RandomBytes }

export function createPlaygroundAdmin({ newId, randomBytes }: Options): PerRequest<PlaygroundAdmin> {
  return {
    async openPlayground({ store }, agentId) {
      for (;;) {
        const found = await store.read.findPlaygroundKey(agentId)
        switch (found.kind) {
          case 'found':
            // mutant: audit.trials
            await store.write.recordTrial({ agentId, tool: null })
            return found.apiKeyId
          case 'agent_not_found':
            throw new ApiError('not_found', 'This agent does not exist.')
          case 'no_key_yet':
            // Its secret is discarded here, and its digest is not stored.
            await store.write.createPlaygroundKey({ id: newId('key'), keyId: makeApiKey(randomBytes).keyId, agentId })
        }
      }
    },
  }
}
