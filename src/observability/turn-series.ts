/** The metrics of turns: their ends, their causes, how long they took and what they used. docs/operate/metrics.md describes them. */
import { Counter, Histogram } from './prom-client.ts'
import type { Registry } from './prom-client.ts'

// A built-in or cached reply takes tenths of a second, a typical one 1–10 s, a long one half a minute. The deadline of the first token is
// 60 s, and every turn ends by 110 s. Buckets are finer where most turns are, so a quantile is off by less than half.
const durationSeconds = [0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 8, 13, 20, 30, 45, 60, 90, 120]
const firstDeltaSeconds = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 30, 60, 120]

export function turnSeries(registers: InstanceType<typeof Registry>[]) {
  return {
    turns: new Counter({
      name: 'turnkeep_turns_total',
      help: 'Turns that ended in this process, by outcome and error code.',
      labelNames: ['outcome', 'code'],
      registers,
    }),
    errors: new Counter({
      name: 'turnkeep_turn_errors_total',
      help: 'Runs of turns that ended without a reply in this process, by cause.',
      labelNames: ['cause'],
      registers,
    }),
    replies: new Counter({
      name: 'turnkeep_replies_total',
      help: 'Replies of completed turns, by why they ended: the finish reason of the model, or cancelled.',
      labelNames: ['finish_reason'],
      registers,
    }),
    durations: new Histogram({
      name: 'turnkeep_turn_duration_seconds',
      help: 'Time from admission to the stored reply of completed turns.',
      buckets: durationSeconds,
      registers,
    }),
    firstDeltas: new Histogram({
      name: 'turnkeep_first_delta_seconds',
      help: 'Time from admission to the first text of the reply.',
      buckets: firstDeltaSeconds,
      registers,
    }),
    tokens: new Counter({
      name: 'turnkeep_tokens_total',
      help: 'Tokens used by completed turns, by kind (prompt or completion).',
      labelNames: ['kind'],
      registers,
    }),
  }
}
