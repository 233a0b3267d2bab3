/** The real modules that the admin module uses, for a test with a store and no service. They cannot reach private addresses. */
import { pino } from 'pino'
import { createGuard } from '../../src/agent/guard/guard.ts'
import { createKnowledge } from '../../src/agent/knowledge/knowledge.ts'
import { createModels } from '../../src/agent/models/models.ts'
import { createTools } from '../../src/agent/tools/tools.ts'
import type { Sealer } from '../../src/config/secrets.ts'
import type { Store } from '../../src/store/store.ts'

export function agentModules(store: Store, sealer: Sealer) {
  const log = pino({ level: 'silent' })
  const [guard, knowledge] = [createGuard({ allowPrivateHosts: [] }), createKnowledge({ store })]
  const tools = createTools({ guard, sealer, knowledge, log, now: () => new Date() })
  return { sealer, models: createModels(), guard, knowledge, tools, closing: new AbortController().signal }
}
