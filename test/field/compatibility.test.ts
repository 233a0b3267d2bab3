/**
 * docs/compatibility.md: what is known to work with Turnkeep, with the versions that the tests use. A row names the test that proves it, and
 * npm's versions come from the lock file. After an intended change: `node test/field/compatibility.test.ts --update`.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const page = join(root, 'docs/compatibility.md')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** `uses`: a package of the lock file that the test imports. `version`: of anything else. */
type Row = { what: string; how: string; test: string } & ({ uses: string } | { version: string })
type Area = { title: string; lead: string; rows: Row[] }

const areas: Area[] = [
  {
    title: 'Clients',
    lead: 'They are used unmodified, against the real server.',
    rows: [
      {
        what: 'OpenAI SDK for JavaScript',
        uses: 'openai',
        how: 'Chat Completions and Responses, streams, retries',
        test: 'test/openai/official-client.test.ts',
      },
      {
        what: 'AI SDK, provider of OpenAI',
        uses: '@ai-sdk/openai',
        how: 'Chat Completions and Responses',
        test: 'test/openai/other-clients.test.ts',
      },
      {
        what: 'AI SDK, provider of compatible servers',
        uses: '@ai-sdk/openai-compatible',
        how: 'Chat Completions',
        test: 'test/openai/other-clients.test.ts',
      },
      { what: 'LangChain', uses: '@langchain/openai', how: 'Chat Completions', test: 'test/openai/other-clients.test.ts' },
      {
        what: 'eventsource-client',
        uses: 'eventsource-client',
        how: '`POST …/chat/stream`, continued by `Last-Event-ID`',
        test: 'test/field/event-clients.test.ts',
      },
      { what: 'eventsource', uses: 'eventsource', how: '`GET …/turns/{request_id}/stream`', test: 'test/field/event-clients.test.ts' },
      {
        what: 'fetch-event-source',
        uses: '@microsoft/fetch-event-source',
        how: '`POST …/chat/stream`, with an `onopen` of its own',
        test: 'test/field/event-clients.test.ts',
      },
    ],
  },
  {
    title: 'MCP',
    lead: 'As server, Turnkeep answers the official clients. As client, it calls servers that answer as those of the field do.',
    rows: [
      {
        what: 'MCP SDK, second generation',
        uses: '@modelcontextprotocol/client',
        how: 'client of `/mcp` and of `turnkeep mcp`',
        test: 'test/mcp-server/other-clients.test.ts',
      },
      {
        what: 'MCP SDK, first generation',
        uses: '@modelcontextprotocol/sdk',
        how: 'client of `/mcp` and of `turnkeep mcp`',
        test: 'test/mcp-server/other-clients.test.ts',
      },
      {
        what: 'MCP conformance suite',
        uses: '@modelcontextprotocol/conformance',
        how: 'the server of the agent',
        test: 'test/mcp-server/conformance.test.ts',
      },
      { what: 'server-everything', uses: '@modelcontextprotocol/server-everything', how: 'tools of an agent', test: 'test/mcp.test.ts' },
      {
        what: 'Headers, nulls and methods of other clients',
        version: 'protocols 2024-11-05 to 2026-07-28',
        how: 'any `Accept` header, null for what is optional, no `params`',
        test: 'test/field/mcp-endpoint.test.ts',
      },
      {
        what: 'Answers of other servers',
        version: 'protocols 2024-11-05 to 2026-07-28',
        how: 'nulls, IDs as text, missing schemas, embedded resources, bad tools beside good ones',
        test: 'test/field/mcp.test.ts',
      },
      {
        what: 'Streams that end early',
        version: 'protocols 2024-11-05 to 2025-11-25',
        how: 'continued by `Last-Event-ID`, whatever the byte at which they end',
        test: 'test/field/mcp-streams.test.ts',
      },
    ],
  },
  {
    title: 'Model servers',
    lead: 'Four dialects, each streamed and as one JSON answer, with generated variations of what servers add, leave out and rename.',
    rows: [
      {
        what: 'Chat Completions',
        version: 'OpenAI, Azure, Groq, Mistral, vLLM, llama.cpp, Ollama, Gemini and others',
        how: 'usage in any place, refusals, reasoning and tool calls in the notations in use',
        test: 'test/field/model-servers.test.ts',
      },
      { what: 'Responses', version: 'OpenAI', how: 'the same', test: 'test/field/model-servers.test.ts' },
      { what: 'Messages', version: 'Anthropic', how: 'the same', test: 'test/field/model-servers.test.ts' },
      { what: 'Gemini', version: 'Google, and gateways to Vertex', how: 'the same', test: 'test/field/model-servers.test.ts' },
      {
        what: 'Damaged streams',
        version: 'all dialects',
        how: 'bits, events and fields that are changed, dropped, doubled or moved: no crash, no charge above what was reported',
        test: 'test/fuzz/model-streams.test.ts',
      },
      { what: 'aimock', uses: '@copilotkit/aimock', how: 'a model server that we did not write', test: 'test/unit/ai-sdk-aimock.test.ts' },
    ],
  },
  {
    title: 'Identity providers',
    lead: 'Claims in every shape that the providers document.',
    rows: [
      {
        what: 'Entra, Okta, Google, Keycloak, Authentik, Zitadel',
        version: 'as documented in 2026',
        how: 'addresses, groups and roles',
        test: 'test/field/identity.test.ts',
      },
      {
        what: 'oidc-provider',
        uses: 'oidc-provider',
        how: 'sign-in, from the redirect to the session',
        test: 'test/spec/operator-oidc.test.ts',
      },
    ],
  },
  {
    title: 'Webhook receivers',
    lead: 'They verify the signatures of real deliveries.',
    rows: [
      { what: 'Standard Webhooks', uses: 'standardwebhooks', how: 'signature and timestamp', test: 'test/spec/webhooks.test.ts' },
      { what: 'Svix', uses: 'svix', how: 'signature and timestamp', test: 'test/spec/webhooks.test.ts' },
    ],
  },
]

type Made = { file: string; program: string; kind: string; warnings: unknown[]; fails?: string }

/** The programs that made the documents, with the number of their files of each kind. */
function documentLines(): string[] {
  const files = JSON.parse(read('test/field/documents/table.json')) as Made[]
  const programs = Map.groupBy(files, ({ program }) => program.trim())
  const line = ([program, made]: [string, Made[]]): string => {
    const kinds = [...Map.groupBy(made, ({ kind }) => kind)].map(([kind, { length }]) => `${length} ${kind}`)
    return `| ${program} | ${kinds.join(', ')} | ${made.filter(({ fails }) => fails !== undefined).length} |`
  }
  return [
    '## Documents',
    '',
    `${files.length} files of ${programs.size} programs. Each gives the text that it shows, or fails with its reason, as a scan does`,
    '([the table](../test/field/documents/table.json)).',
    '',
    '| program | files | fail with a reason |',
    '|---|---|---|',
    ...[...programs].toSorted(([a], [b]) => a.localeCompare(b, 'en')).map(line),
  ]
}

const locked = (JSON.parse(read('package-lock.json')) as { packages: Record<string, { version?: string }> }).packages

function versionOf(row: Row): string {
  return 'uses' in row ? locked[`node_modules/${row.uses}`]!.version! : row.version
}

function written(): string {
  const tables = areas.flatMap(({ title, lead, rows }) => [
    `## ${title}`,
    '',
    lead,
    '',
    '| what | version | what is tested | test |',
    '|---|---|---|---|',
    ...rows.map((row) => `| ${row.what} | ${versionOf(row)} | ${row.how} | [${row.test}](../${row.test}) |`),
    '',
  ])
  const head = ['# Compatibility', '', 'What is known to work with Turnkeep, because a test uses it. What is not listed may work, too.', '']
  const search = [
    '',
    '## Languages of search',
    '',
    'Words are found in English, German, Turkish, Korean, Japanese, Thai, Arabic, Hebrew and Chinese',
    '([how, and how much is found](decisions/0049-search-normalization.md)).',
  ]
  return `${[...head, ...tables, ...documentLines(), ...search].join('\n')}\n`
}

void test('compatibility: the page lists what the tests use, with its versions', () => {
  if (process.argv.includes('--update')) writeFileSync(page, written())
  assert.equal(readFileSync(page, 'utf8'), written(), 'node test/field/compatibility.test.ts --update')
})

void test('compatibility: each row names a test that uses what it lists', () => {
  for (const { rows } of areas)
    for (const row of rows) {
      assert.ok(existsSync(join(root, row.test)), row.test)
      if (!('uses' in row)) continue
      const sources = [row.test, ...[...read(row.test).matchAll(/from '(\.[^']+\.ts)'/g)].map(([, file]) => join(row.test, '..', file!))]
      assert.ok(
        sources.some((file) => existsSync(join(root, file)) && read(file).includes(row.uses)),
        `${row.test} does not use ${row.uses}`,
      )
    }
})
