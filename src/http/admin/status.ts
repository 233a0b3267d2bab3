/** The read-only admin routes for the status of the service and for verifying the stored data, used by the operations page of the console. */
import type { Static } from 'typebox'
import { maxVerificationMs } from '../../admin/verification.ts'
import type { Verification } from '../../admin/verification.ts'
import type { Status } from '../../observability/status.ts'
import { about, answers } from './answers.ts'
import { Status as StatusAnswer, Verification as VerificationAnswer } from './console-answers.ts'
import { EmptyBody, writeTime } from './fields.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

// Extra time for the response to a verification that reached its time limit.
const graceMs = 10_000

export const serviceRoutes: TypedRoutes = async (app) => {
  app.get(
    '/status',
    {
      schema: {
        ...about(
          'Service',
          'readStatus',
          'Get the status of the service',
          'Returns the state of the store and the rate limiter, and figures of the process that handled the request.',
        ),
        response: answers(StatusAnswer),
      },
    },
    async (request) => writeStatus(await request.modules.readStatus()),
  )

  app.post(
    '/verify',
    {
      schema: {
        ...about(
          'Service',
          'verifyStore',
          'Verify the stored data',
          'Checks every invariant, like `turnkeep verify`, in a separate process; this can take minutes. Only one check runs at a time: concurrent requests get the same result. After five minutes it is stopped and returns 503.',
        ),
        body: EmptyBody,
        response: answers(VerificationAnswer),
      },
    },
    async (request, reply) => {
      // No data is sent while the check runs, and the server would close the idle connection too early.
      reply.raw.setTimeout(maxVerificationMs + graceMs)
      request.isForCallerOnly = true
      return writeVerification(await request.modules.verify())
    },
  )
}

const writeStatus = (status: Status): Static<typeof StatusAnswer.ref> => ({
  version: status.version,
  node: status.node,
  started_at: writeTime(status.startedAt),
  draining: status.draining,
  store: status.store,
  limiter: status.limiter,
  workers: status.workers,
  process: { rss_bytes: status.rssBytes, event_loop_p99_ms: status.eventLoopP99Ms },
  turns: { running: status.running, most: status.maxRunning, waiting: status.waiting },
  documents: status.documents ?? null,
  counted: writeCounted(status.counted),
})

const writeCounted = ({ modelRetries, ...counted }: Status['counted']): Static<typeof StatusAnswer.ref>['counted'] => ({
  ...counted,
  model_retries: modelRetries,
})

const writeVerification = ({ ok, verifiedAt, ms, invariants }: Verification): Static<typeof VerificationAnswer.ref> => ({
  ok,
  verified_at: writeTime(verifiedAt),
  ms,
  invariants,
})
