/** The real modules that the admin module uses, for a test with a store and no service. They cannot reach private addresses. */
import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { createSignInMethods } from '../../src/admin/sign-in/sign-in.ts'
import { createAgents } from '../../src/agent/agent.ts'
import { createGuard } from '../../src/agent/guard/guard.ts'
import { createKnowledge } from '../../src/agent/knowledge/knowledge.ts'
import { createModels } from '../../src/agent/models/models.ts'
import { createTools } from '../../src/agent/tools/tools.ts'
import type { Sealer } from '../../src/config/secrets.ts'
import { noFailpoints } from '../../src/failpoints.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import type { Store } from '../../src/store/store.ts'
import { createWebhooks } from '../../src/webhooks/webhooks.ts'

export function agentModules(store: Store, sealer: Sealer) {
  const log = pino({ level: 'silent' })
  const [guard, knowledge] = [createGuard({ allowPrivateHosts: [] }), createKnowledge({ store })]
  const tools = createTools({ guard, sealer, knowledge, log, now: () => new Date() })
  const models = createModels()
  const agents = createAgents({ store, sealer, models, knowledge, tools, failpoints: noFailpoints, log, metrics: createMetrics() })
  const closing = new AbortController().signal
  const webhooks = createWebhooks({
    store,
    guard,
    sealer,
    failpoints: noFailpoints,
    log,
    metrics: createMetrics(),
    newId: (prefix) => `${prefix}_x`,
  })
  const signIn = createSignInMethods({ encryptionKeys: [randomBytes(32)], oidc: undefined, log, monotonicMs: () => performance.now() })
  return { signIn, sealer, models, guard, webhooks, knowledge, tools, closing, agents, turnMs: 110_000, liveTrace: () => undefined }
}
