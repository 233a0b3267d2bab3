/** A version's stored JSON: written and read unchanged, also from older versions, with damage reported. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatStoredConfig, parseAgentConfig } from '../../src/agent/agent-config.ts'
import type { AgentConfig } from '../../src/agent/agent-config.ts'
import type { AgentVersion } from '../../src/store/queries/agent-versions.ts'
import { plainPrice } from '../support/token-kinds.ts'

const config: AgentConfig = {
  systemPrompt: 'You are a test.',
  model: 'scripted/test-model',
  temperature: 0.5,
  maxSteps: 3,
  maxToolCalls: 5,
  maxOutputTokens: 100,
  history: { maxTokens: 200 },
  knowledge: { maxTokens: 300, topK: 4, embeddingModel: 'scripted/vectors', language: 'german' },
  tools: [
    {
      type: 'http',
      name: 'book',
      description: 'Books.',
      parameters: { type: 'object' },
      method: 'POST',
      url: 'https://tools.example/{day}',
      headers: { authorization: 'c2VhbGVk' },
      secrets: {},
      timeoutSeconds: 10,
      sideEffects: true,
    },
    {
      type: 'mcp',
      name: 'files',
      url: 'https://mcp.example',
      headers: {},
      allowed: null,
      pinned: [{ name: 'read', description: '', parameters: { type: 'object' }, sideEffects: false }],
    },
    { type: 'builtin', name: 'now', price: 1_000_000 },
  ],
  priceSource: { from: 'price_list', list: 'a list 1.0', date: '2026-11-21' },
  maxMessageLength: 400,
}

/** As the row of a version holds it. */
function row(stored: string): AgentVersion {
  return {
    id: '1',
    agentId: 'agt_1',
    version: 1,
    createdAt: 0,
    name: 'Test',
    model: config.model,
    config: stored,
    fixedTokens: 1,
    historyMaxTokens: 200,
    knowledgeMaxTokens: 300,
    maxOutputTokens: 100,
    maxMessageLength: 400,
    price: plainPrice(1n, 1n),
  }
}

void test('agent config: a stored configuration is read as it was written', () => {
  assert.deepEqual(parseAgentConfig(row(formatStoredConfig(config))), config)
})

void test('agent config: a version from before tools existed has none, and the default limits', () => {
  const old = parseAgentConfig(row(JSON.stringify({ systemPrompt: 'x', temperature: null, maxSteps: 8, topK: 6 })))
  assert.deepEqual([old.tools, old.maxToolCalls], [[], 16])
  assert.deepEqual(old.knowledge, { maxTokens: 300, topK: 6, embeddingModel: null, language: null })
})

void test('agent config: a damaged configuration is reported and not used', () => {
  const stored = JSON.parse(formatStoredConfig(config)) as { tools: object[] }
  for (const tool of [{ type: 'odd', name: 'x' }, { ...stored.tools[0], sideEffects: 'no' }, { ...stored.tools[1], pinned: [{}] }, 'now']) {
    assert.throws(() => parseAgentConfig(row(JSON.stringify({ ...stored, tools: [tool] }))), /agt_1 version 1 is damaged/)
  }
})
