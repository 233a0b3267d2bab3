/** One engine as a process runs it: the real turn and agent modules on a simulated store and a scripted model. */
import { pino } from 'pino'
import { createAgents } from '../../src/agent/agent.ts'
import { noFailpoints } from '../../src/failpoints.ts'
import type { Metrics } from '../../src/observability/metrics.ts'
import type { Store } from '../../src/store/store.ts'
import { createTurns } from '../../src/turn/turn.ts'
import type { Turns } from '../../src/turn/turn.ts'
import type { Accuse } from './store-model.ts'
import type { Pause, Upstream } from './scripted-model.ts'

export type EngineOptions = { store: Store; upstream: Upstream; pause: Pause; accuse: Accuse; nextId(): string }

const noMetrics: Metrics = {
  turnEnded: () => {},
  turnRecovered: () => {},
  replayed: () => {},
  refused: () => {},
  modelCalled: () => {},
  modelRetried: () => {},
  webhookAttempted: () => {},
  webhooksKnown: () => {},
}

let listen: Accuse = () => {}
/**
 * Created once, because creating a logger costs as much as a schedule. An error that is logged with a cause other than `StoreUnavailable`
 * is an internal error and fails the schedule.
 */
const log = pino(
  { level: 'error' },
  {
    write(line: string) {
      const { err, msg } = JSON.parse(line) as { err?: { type: string; message: string }; msg: string }
      if (err && err.type !== 'StoreUnavailable') listen('fault-of-ours', `${msg}: ${err.message}`)
    },
  },
)

/** Opens an engine. Its timers and calls belong to the process that is currently running in the simulation. */
export function openEngine({ store, upstream, pause, accuse, nextId }: EngineOptions): Turns {
  listen = accuse
  const agents = createAgents({
    store,
    sealer: { seal: refuse, open: refuse },
    models: { open: () => upstream.openModel(pause), openEmbed: refuse, list: refuse, close: refuse },
    knowledge: { search: async () => [], index: refuse, close: refuse },
    tools: { open: () => upstream.openToolbox(pause), pin: refuse, close: refuse },
    failpoints: noFailpoints,
    log,
    metrics: noMetrics,
  })
  return createTurns({
    store,
    agents,
    failpoints: noFailpoints,
    log,
    metrics: noMetrics,
    newRequestId: () => `00000000-0000-7000-8000-${nextId()}`,
    newId: (prefix) => `${prefix}_${nextId()}`,
  })
}

const refuse = (): never => {
  throw new Error('this part of the service is not simulated')
}
