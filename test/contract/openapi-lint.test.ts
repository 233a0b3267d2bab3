/** Both descriptions, as a real server serves them, pass a third-party linter, with the rules of spectral-rules.ts. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, test } from 'node:test'
import { dereferenced } from '../support/dereferenced.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'
import { rulesOfBoth, rulesOfPublic } from './spectral-rules.ts'
import type { Ruleset } from './spectral-rules.ts'

type Linter = {
  setRuleset(rules: Ruleset): void
  run(document: Json): Promise<{ code: string | number; path: (string | number)[]; message: string }[]>
}
// Without its types: see spectral-rules.ts.
const require = createRequire(import.meta.url)
const { Spectral } = require('@stoplight/spectral-core') as { Spectral: new () => Linter }

const app = await startTestApp()
after(() => app.close())
const publicApi = (await (await fetch(`${app.url}/openapi.json`)).json()) as Json
const adminApi = await app.made('GET', '/openapi.json')

/** The findings, a line each. */
async function lint(document: Json, rules: Ruleset): Promise<string[]> {
  const spectral = new Spectral()
  spectral.setRuleset(rules)
  return (await spectral.run(document)).map(({ code, path, message }) => `${code} at ${path.join('.')}: ${message}`)
}

void test('contract: the linter finds nothing in /openapi.json', async () => assert.deepEqual(await lint(publicApi, rulesOfPublic), []))
void test('contract: the linter finds nothing in /admin/v1/openapi.json', async () =>
  assert.deepEqual(await lint(adminApi, rulesOfBoth), []))

// Each of them is one change of the public description, and the rule that has to report it.
const broken: [rule: string, change: (operation: Json, document: Json) => void][] = [
  ['turnkeep-summary', (operation) => (operation['summary'] = 'It ends with a full stop.')],
  ['turnkeep-description', (operation) => (operation['description'] = 'no sentence')],
  ['turnkeep-request-id', (operation) => delete operation['responses'][200].headers['X-Request-ID']],
  ['turnkeep-envelope', (operation) => delete operation['responses'][422].content['application/json'].schema.properties.error.required],
  ['turnkeep-envelope', (operation) => delete operation['responses'][409].content['application/json'].examples.conversation_busy],
  ['turnkeep-header-description', (operation) => delete operation['responses'][429].headers['Retry-After'].description],
  ['turnkeep-examples', (operation) => delete operation['responses'][200].content['application/json'].example],
  ['turnkeep-examples', (_, document) => delete document['components'].schemas.ChatRequest.examples],
  [
    'turnkeep-streams',
    (_, document) =>
      (document['paths']['/v1/agents/{agent_id}/chat/stream'].post.responses[200].content['text/event-stream'].schema = {
        $ref: '#/components/schemas/ChatEvent',
      }),
  ],
  ['turnkeep-property-description', (_, document) => delete document['components'].schemas.Usage.properties.total_tokens.description],
  ['operation-operationId', (operation) => delete operation['operationId']],
  ['oas3-parameter-description', (operation) => delete operation['parameters'][0].description],
  ['oas3-schema', (operation) => (operation['responses'][200].headers['X-Request-ID'] = { schema: { type: 'text' } })],
]

for (const [rule, change] of broken)
  void test(`contract: ${rule} fails for a description that violates it: ${String(change).slice(0, 110)}`, async () => {
    const document = structuredClone(dereferenced(publicApi))
    change(document['paths']['/v1/agents/{agent_id}/chat'].post, document)
    const found = await lint(document, rulesOfPublic)
    assert.ok(
      found.some((line) => line.startsWith(`${rule} at `)),
      found.join('\n'),
    )
  })

// Its failures have OpenAI's form, which the test of the description checks.
const { 'turnkeep-envelope': _, ...otherRules } = rulesOfBoth.rules
const rulesOfOpenAi: Ruleset = { ...rulesOfBoth, rules: otherRules }
void test('contract: the linter finds nothing in /openai/openapi.json', async () => {
  const document = (await (await fetch(`${app.url}/openai/openapi.json`)).json()) as Json
  assert.deepEqual(await lint(document, rulesOfOpenAi), [])
})
