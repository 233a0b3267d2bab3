/** /status and /verify, on the wire: how the service is, and whether what it stores is sound. For the console's operations page; both only read. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { maxVerificationMs } from '../../admin/verification.ts'
import type { Verification, Verify } from '../../admin/verification.ts'
import type { Status } from '../../observability/status.ts'
import { about, answers } from './answers.ts'
import { Status as StatusAnswer, Verification as VerificationAnswer } from './console-answers.ts'
import { writeTime } from './fields.ts'
import { Type } from '../edge/schema.ts'

export type StatusOptions = { status: () => Promise<Status>; verify: Verify }

/** May be left out. */
const Nothing = Type.Union([Type.Object({}, { additionalProperties: false }), Type.Null()], { examples: [{}] })

// The answer of one that was ended in time still leaves.
const graceMs = 10_000

export const serviceRoutes: FastifyPluginAsyncTypebox<StatusOptions> = async (app, { status, verify }) => {
  app.get(
    '/status',
    {
      schema: {
        ...about(
          'Service',
          'readStatus',
          'How the service is',
          'The state of store and rate limiter, and figures of the process that answers.',
        ),
        response: answers(StatusAnswer),
      },
    },
    async () => writeStatus(await status()),
  )

  app.post(
    '/verify',
    {
      schema: {
        ...about(
          'Service',
          'verifyStore',
          'Check every invariant of the stored data',
          'Runs `turnkeep verify` beside the server, which may take minutes. One at a time: who asks meanwhile gets the same answer. It is ended after five minutes, with a 503.',
        ),
        body: Nothing,
        response: answers(VerificationAnswer, 'validation_error', 'payload_too_large'),
      },
    },
    async (_request, reply) => {
      // Nobody says anything for as long as the store is read, and a silent connection is closed sooner.
      reply.raw.setTimeout(maxVerificationMs + graceMs)
      return writeVerification(await verify())
    },
  )
}

const writeStatus = (status: Status): object => ({
  version: status.version,
  node: status.node,
  started_at: writeTime(status.startedAt),
  draining: status.draining,
  store: status.store,
  limiter: status.limiter,
  workers: status.workers,
  process: { rss_bytes: status.rssBytes, event_loop_p99_ms: status.eventLoopP99Ms },
  turns: { running: status.running, most: status.maxRunning, waiting: status.waiting },
  counted: writeCounted(status.counted),
})

const writeCounted = ({ modelRetries, ...counted }: Status['counted']): object => ({ ...counted, model_retries: modelRetries })

const writeVerification = ({ ok, verifiedAt, ms, invariants }: Verification): object => ({
  ok,
  verified_at: writeTime(verifiedAt),
  ms,
  invariants,
})
