/** Response schemas of the admin API that mainly serve the console: the session, the service status, and trials. */
import { Count, Price, PriceSource, Time, orNull } from './answer-fields.ts'
import { define } from '../public/schemas.ts'
import { Type } from '../edge/schema.ts'

export const Session = define(
  'Session',
  Type.Object({
    expires_at: Time,
    version: Type.String({ description: 'Version of the server.' }),
    api_url: Type.Union([Type.String(), Type.Null()], {
      description: 'Base URL of the public API. Null if it has the same origin as this page.',
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
    workers: Type.Integer({ minimum: 1, description: 'Number of worker processes of this installation on this machine.' }),
    process: Type.Object(
      {
        rss_bytes: Count,
        event_loop_p99_ms: Type.Number({
          minimum: 0,
          description: '99th percentile of the event loop delay over the last 10 to 20 seconds.',
        }),
      },
      { description: 'The process that handled this request.' },
    ),
    turns: Type.Object(
      {
        running: Count,
        most: Count,
        waiting: Type.Object({ admission: Count, advance: Count, settlement: Count, failure: Count }),
      },
      { description: 'Turns in the process that handled this request.' },
    ),
    documents: Type.Union([Type.Object({ queued: Count, indexing: Count }), Type.Null()], {
      description:
        'Documents of all agents that wait to be indexed or are being indexed, by all processes. Null: the store is unavailable.',
    }),
    counted: Type.Object(
      {
        completed: Count,
        errors: Count,
        failed: Count,
        released: Count,
        cancelled: Count,
        lost: Count,
        replayed: Count,
        recovered: Count,
        refused: Type.Integer({
          minimum: 0,
          description: 'Requests to either API that were rejected with an error, not counting failed turns.',
        }),
        model_retries: Count,
      },
      { description: 'Totals since the process that handled this request started.' },
    ),
  }),
)

export const Verification = define(
  'Verification',
  Type.Object({
    ok: Type.Boolean(),
    verified_at: Type.String({
      format: 'date-time',
      description: 'When the check started, UTC. The result describes the data stored at that time.',
    }),
    ms: Type.Number({ minimum: 0 }),
    invariants: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        sentence: Type.String(),
        ok: Type.Boolean(),
        rows: Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: 'The first rows that violate the invariant.' }),
      }),
    ),
  }),
)

export const ToolTrial = define(
  'ToolTrial',
  Type.Object({
    result: Type.String({ description: 'What would be returned to the model.' }),
    is_error: Type.Boolean(),
    ms: Type.Number({ minimum: 0 }),
  }),
)

export const ModelPrice = define(
  'ModelPrice',
  Type.Object({
    model: Type.String(),
    price: orNull(Price),
    price_source: PriceSource,
    context_tokens: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], { description: 'Null if unknown.' }),
  }),
)

export const ProviderModels = define(
  'ProviderModels',
  Type.Object({
    ok: Type.Boolean(),
    data: Type.Array(
      Type.Object({
        id: Type.String(),
        price: Type.Union([Price, Type.Null()], { description: 'Null if it is not in the price list.' }),
        context_tokens: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], { description: 'Null if unknown.' }),
      }),
      { description: 'Empty if the provider could not list its models.' },
    ),
    error: Type.Optional(Type.String({ description: 'The error message of the provider, truncated.' })),
  }),
)
