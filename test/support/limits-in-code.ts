/** The place in the code of each figure of docs/guides/limits.md: the row, its text, and the line of source with the figure. */

export type LimitInCode = { row: string; figure: string; file: string; constant: RegExp }

const at = (row: string, figure: string, file: string, constant: RegExp): LimitInCode => ({ row, figure, file, constant })

export const limitsInCode: LimitInCode[] = [
  at('requests of an API key', '120 in 60 s', 'src/admin/api-keys.ts', /defaultRateLimit = \{ limit: 120, windowSeconds: 60 \}/),
  at('`message`', '32000 characters', 'src/store/turn-records.ts', /defaultMaxMessageLength = 32_000/),
  at('`external_user_id`', '255 characters', 'src/http/public/schemas.ts', /maxLength: 255,/),
  at('`Idempotency-Key`', '255 characters', 'src/http/public/idempotency-key.ts', /const longest = 255$/m),
  at('idempotency record', '24 hours', 'src/store/turn-records.ts', /recordLifetimeMs = 24 \* 60 \* 60 \* 1000/),
  at('body of a request', '1 MiB', 'src/http/edge/polite-close.ts', /bodyLimitBytes = 1_048_576/),
  at('a whole turn', '110 s', 'src/turn/turn-settings.ts', /turnMs: 110_000/),
  at('response to a caller', '115 s', 'src/turn/turn-settings.ts', /answerMs: 115_000/),
  at('unread data on a stream', '256 KiB', 'src/http/public/event-stream.ts', /unsentLimitBytes = 262_144/),
  at('silence on a stream', '15 s', 'src/http/http.ts', /heartbeatMs: 15_000/),
  at(
    'page size of a list',
    '100, and 20',
    'src/http/public/schemas.ts',
    /defaultLimit = 20\n[\s\S]*minimum: 1, maximum: 100, default: defaultLimit/,
  ),
  at(
    'messages of one external user in parallel',
    '1',
    'src/store/sqlite/migrations/0001-schema.sql',
    /unique index one_running_turn_per_conversation/,
  ),
  at('a reply', '2048 tokens', 'src/admin/agents/agent-fields.ts', /maxOutputTokens: 2048/),
  at('history in a prompt', '8000 tokens', 'src/admin/agents/agent-fields.ts', /maxHistoryTokens = 8000/),
  at('passages in a prompt', '6 of them, 1500 tokens', 'src/admin/agents/agent-fields.ts', /maxTokens: 1500, topK: 6/),
  at('steps of a turn', '8', 'src/admin/agents/agent-fields.ts', /maxSteps: 8,/),
  at('tool calls of a turn', '16', 'src/agent/agent-config.ts', /defaultMaxToolCalls = 16/),
  at('a call of a tool', '10 s, and at most 60 s', 'src/http/admin/agents/tools.ts', /maximum: 60 [\s\S]*defaultTimeoutSeconds = 10/),
  at('response of a tool', '32 KiB', 'src/agent/tools/answer-text.ts', /maxBytes = 32_768/),
  at(
    'system prompt',
    '100000 characters',
    'src/http/admin/agents/agent-bodies.ts',
    /system_prompt: wellFormed\(\{ maxLength: 100_000 \}\)/,
  ),
  at('running turns of a process', '1000', 'src/turn/turn-settings.ts', /maxTurns: 1000/),
  at('a file of a document', '20 MiB', 'src/agent/documents/limits.ts', /maxFileBytes = 20 \* 1024 \* 1024/),
  at('documents of an agent', '10000', 'src/store/queries/knowledge/documents.ts', /maxDocuments = 10_000/),
  at('parallel uploads of a process', '8', 'src/http/admin/agents/document-upload.ts', /maxUploads = 8$/m),
  at('attempts of a turn whose process dies', '3', 'src/store/turn-records.ts', /maxAttempts = 3/),
  at('a drain after SIGTERM', '115 s', 'docs/operate/settings.md', /`TURNKEEP_DRAIN_SECONDS` \| `115`/),
  at('connecting to the provider', '5 s', 'src/agent/models/models.ts', /connectMs = 5000/),
  at('the first token', '60 s', 'src/agent/models/transport/exchange.ts', /firstTokenMs: 60_000/),
  at('silence within a reply', '30 s', 'src/agent/models/transport/exchange.ts', /idleMs: 30_000/),
  at('attempts before the first text', '3', 'src/agent/models/retry.ts', /maxRetries = 2/),
]
