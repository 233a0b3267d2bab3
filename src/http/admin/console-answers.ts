/** What the admin API answers for the console alone: who is signed in, how the service is, and what is tried out. */
import { Count, Price, Time, orNull } from './answer-fields.ts'
import { define } from '../public/schemas.ts'
import { Type } from '../edge/schema.ts'

export const Session = define(
  'Session',
  Type.Object({
    expires_at: Time,
    version: Type.String({ description: "The server's." }),
    api_url: Type.Union([Type.String(), Type.Null()], {
      description: 'Base address of the public API for callers; null: the origin of this page.',
    }),
  }),
)

const Health = Type.Enum(['ok', 'unavailable'])
export const Status = define(
  'Status',
  Type.Object({
    version: Type.String(),
    node: Type.String(),
    started_at: Time,
    draining: Type.Boolean(),
    store: Type.Object({ kind: Type.Enum(['sqlite', 'postgres']), state: Health }),
    limiter: Type.Object({ kind: Type.Enum(['memory', 'postgres', 'redis']), state: Health }),
    workers: Type.Integer({ minimum: 1, description: 'Processes of this installation on this machine.' }),
    process: Type.Object(
      { rss_bytes: Count, event_loop_p99_ms: Type.Number({ minimum: 0, description: 'Of the last ten to twenty seconds.' }) },
      { description: 'The one that answers.' },
    ),
    turns: Type.Object(
      {
        running: Count,
        most: Count,
        waiting: Type.Object({ admission: Count, advance: Count, settlement: Count, failure: Count }),
      },
      { description: 'In the process that answers.' },
    ),
    counted: Type.Object(
      {
        completed: Count,
        failed: Count,
        released: Count,
        lost: Count,
        replayed: Count,
        recovered: Count,
        refused: Type.Integer({ minimum: 0, description: 'Requests of either API that were answered with a failure of their own.' }),
        model_retries: Count,
      },
      { description: 'Since the start of the process that answers.' },
    ),
  }),
)

export const Verification = define(
  'Verification',
  Type.Object({
    ok: Type.Boolean(),
    verified_at: Type.String({ format: 'date-time', description: 'When it was begun, UTC: the answer is of what was stored then.' }),
    ms: Type.Number({ minimum: 0 }),
    invariants: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        sentence: Type.String(),
        ok: Type.Boolean(),
        rows: Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: 'What breaks it; the first ones.' }),
      }),
    ),
  }),
)

export const ToolTrial = define(
  'ToolTrial',
  Type.Object({
    result: Type.String({ description: 'What the model would be told.' }),
    is_error: Type.Boolean(),
    ms: Type.Number({ minimum: 0 }),
  }),
)

export const ModelPrice = define(
  'ModelPrice',
  Type.Object({
    model: Type.String(),
    price: orNull(Price),
    context_tokens: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], { description: 'Null: not known.' }),
  }),
)
