/** The writer thread: the only connection that writes. Waiting items are committed in groups (group-commit.ts). */
import { createFailpoints } from '../../failpoints.ts'
import { createClock } from './clock.ts'
import { openForWriting, sqlOf } from './database.ts'
import { Writer } from './group-commit.ts'
import { createTurnPath } from './turn-path.ts'
import { migrate, readMigrations } from './migrate.ts'
import { pack } from './protocol.ts'
import type { Call, EarlyAnswer, SentAnswer, WireOutcome } from './protocol.ts'
import { serveThread } from './serve-thread.ts'

// The maximum number of calls in a group. A group's commit delays everything in it, and each batcher sends up to 64 items.
const maxCallsInGroup = 128

serveThread(({ folder, failpoints: spec, clockOffset }) => {
  const failpoints = createFailpoints(spec)
  const db = openForWriting(folder)
  failpoints.hit('start.before-migrations')
  migrate(db, readMigrations(), folder)
  failpoints.hit('start.after-migrations')
  const clock = createClock(clockOffset)
  const turnPath = createTurnPath(db, clock)
  turnPath.endAllLeases()
  failpoints.hit('start.after-leases-ended')
  const writer = new Writer(db, turnPath, sqlOf(db, clock.now), failpoints)
  return { db, answer, maxCalls: maxCallsInGroup }

  async function answer(calls: Call[], postEarly: (answer: EarlyAnswer) => void): Promise<SentAnswer[]> {
    const reported = new Set<WireOutcome>()
    const answers = await writer.answer(calls, (earlyAnswers) => {
      for (const { id, early } of earlyAnswers) {
        for (const [, outcome] of early) reported.add(outcome)
        postEarly({ id, early: early.map(([index, outcome]) => [index, pack(outcome)]) })
      }
    })
    const sent = (outcome: WireOutcome): SentAnswer['outcomes'][number] => (reported.has(outcome) ? 'as reported early' : pack(outcome))
    return answers.map(({ id, outcomes }, index) => ({ id, outcomes: calls[index]!.operation === 'admit' ? outcomes.map(sent) : outcomes }))
  }
})
