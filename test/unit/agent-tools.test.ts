/** How the secrets of tools are stored when the encryption key is replaced: docs/guides/rotating-keys.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createToolsOfAgents } from '../../src/admin/agents/agent-tools.ts'
import type { GivenTool } from '../../src/admin/agents/agent-tools.ts'
import type { ToolConfig } from '../../src/agent/tools/tools.ts'
import { createSealer, generateEncryptionKey } from '../../src/config/secrets.ts'

const [old, fresh] = [generateEncryptionKey(), generateEncryptionKey()]
const pinned = [{ name: 'look', description: 'Looks.', parameters: { type: 'object' }, sideEffects: false }]
let asked = 0

const toolsWith = (...keys: Uint8Array[]) =>
  createToolsOfAgents({
    sealer: createSealer(keys),
    tools: {
      pin: async () => {
        asked++
        return { pinned, unusable: [] }
      },
    },
    guard: { refusedAddress: () => undefined },
  })

const given = (value: string | null): GivenTool[] => [
  {
    type: 'http',
    name: 'status',
    description: 'Looks an order up.',
    parameters: { type: 'object', properties: { order: { type: 'string' } } },
    method: 'GET',
    url: 'https://api.example.com/{order}?key={key}',
    timeoutSeconds: 10,
    sideEffects: false,
    price: 0,
    headers: { Authorization: value },
    secrets: { key: value },
  },
  { type: 'mcp', name: 'shop', url: 'https://mcp.example.com/', allowed: null, price: 0, headers: { 'X-Key': value } },
]

const resolve = (keys: Uint8Array[], value: string | null, present: ToolConfig[]): Promise<ToolConfig[]> =>
  toolsWith(...keys).resolve(given(value), present, 'agt_1', new Map())

void test('tools: the same secrets again are encrypted with a new first key, and the pinned tools of a server stay', async () => {
  const before = await resolve([old], 'secret', [])
  assert.equal(asked, 1)
  assert.deepEqual(await resolve([old], 'secret', before), before, 'nothing changes without a new key')
  await assert.rejects(resolve([fresh], null, before), /has no stored value/)
  for (const value of ['secret', null]) {
    const rotated = await resolve([fresh, old], value, before)
    assert.notDeepEqual(rotated, before)
    assert.deepEqual(await resolve([fresh], null, rotated), rotated, 'the old key is not needed any more')
    assert.equal(asked, 1, 'the server is not asked again')
  }
  await resolve([old], 'another', before)
  assert.equal(asked, 2)
})
