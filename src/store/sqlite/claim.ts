/** Claims turns whose lease has expired (`turn.states`): counts an attempt, sets a new fence and reads the whole turn. */
import { maxBytes } from '../budget.ts'
import { maxAttempts } from '../turn-records.ts'
import type { AdmittedTurn, Claims } from '../turn-records.ts'
import type { Row } from '../sql.ts'
import type { Clock } from './clock.ts'
import { endWithoutReply } from './end-turn.ts'
import { readPrice } from '../queries/columns.ts'
import { readHistory, readJournal, readStepsBefore } from './history.ts'
import type { Statements } from './statements.ts'

export type Claim = { which: 'fresh' | 'suspect'; limit: number; leaseMs: number; running: string[] }

export function claim(sql: Statements, clock: Clock, item: Claim): Claims {
  const own = new Set(item.running)
  const turns: AdmittedTurn[] = []
  const exhausted: string[] = []
  const leaseNow = clock.leaseNow()
  const orphans = sql.findOrphans.all(leaseNow)
  let bytes = 0
  for (const orphan of orphans) {
    const requestId = orphan.request_id as string
    if (own.has(requestId)) continue
    const attempt = Number(orphan.attempt)
    if (attempt >= maxAttempts) {
      if (item.which === 'fresh') continue
      const cause = `the process died in each of ${maxAttempts} attempts`
      // Its usage was lost with the processes, so the whole hold counts as unpaid, and nothing is reserved.
      const unpaid = orphan.hold as bigint
      endWithoutReply(sql, clock, orphan, {
        state: 'failed',
        code: 'internal_error',
        cause,
        causeKind: 'process_died',
        unpaid,
        trace: null,
      })
      exhausted.push(requestId)
      continue
    }
    if ((attempt === 1) !== (item.which === 'fresh')) continue
    // The rest is claimed when these have ended, so that long histories and journals do not fill the memory.
    if (bytes > maxBytes || turns.length >= (item.which === 'fresh' ? item.limit : Math.min(1, item.limit))) {
      if (item.which === 'fresh') break
      // Turns without an attempt left come last, and do not count.
      continue
    }
    const fence = Number(orphan.fence) + 1
    sql.claimTurn.run(attempt + 1, fence, Math.ceil(leaseNow + item.leaseMs), requestId)
    const turn = readClaimed(sql, orphan, attempt + 1, fence)
    for (const { content } of turn.history) bytes += content.length
    for (const { payload } of turn.journal) bytes += payload.length
    turns.push(turn)
  }
  return { turns, exhausted }
}

function readClaimed(sql: Statements, orphan: Row, attempt: number, fence: number): AdmittedTurn {
  const requestId = orphan.request_id as string
  const conversationId = orphan.conversation_id as string
  // mutant: retry.continues
  const firstRun = orphan.continues_from ?? orphan.run!
  return {
    requestId,
    conversationId,
    apiKeyId: orphan.api_key_id as string,
    agentId: orphan.agent_id as string,
    agentVersion: Number(orphan.agent_version),
    fence,
    run: Number(orphan.run),
    attempt,
    message: orphan.message as string,
    traceparent: orphan.traceparent as string | null,
    cancelRequested: orphan.cancel_requested_at !== null,
    price: readPrice(orphan),
    hold: orphan.hold as bigint,
    history: readHistory(sql, conversationId, Number(orphan.history_max_tokens)),
    journal: readJournal(sql, requestId, firstRun),
    stepsBefore: readStepsBefore(sql, requestId, firstRun),
  }
}
