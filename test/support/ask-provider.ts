/**
 * Asks a model of a hosted provider as its caller does, over real HTTP, against a scripted server of the file's own. Called once at the top of a
 * test file: it starts the server before the file's tests and ends it after them.
 */
import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { ModelError } from '../../src/agent/model.ts'
import type { ModelRequest, ModelStep } from '../../src/agent/model.ts'
import { createModels } from '../../src/agent/models.ts'
import type { Models, Provider } from '../../src/agent/models.ts'
import { apiKey } from './ask-model.ts'
import type { HostedKind } from './provider-dialects.ts'
import { startProviderServer } from './provider-server.ts'
import type { ProviderReply, ProviderServer } from './provider-server.ts'

const request: ModelRequest = {
  modelId: 'some-model',
  messages: [{ role: 'user', content: 'Hello' }],
  tools: [],
  maxOutputTokens: 100,
  temperature: null,
  passages: [],
}

export type Asking = {
  models?: Models
  provider?: Partial<Provider>
  request?: Partial<ModelRequest>
  signal?: AbortSignal
  onText?: (text: string) => void
}

export type ProviderAsker = {
  readonly server: ProviderServer
  readonly models: Models
  ask(kind: HostedKind, asking?: Asking): Promise<ModelStep>
  /** Scripts one reply and answers what became of it; the pieces have been checked to add up to the text. */
  answer(kind: HostedKind, script: ProviderReply): Promise<ModelStep & { pieces: string[] }>
  /** Scripts one reply and answers the ModelError it ends in, with the text that left before; fails where it does not end in one. */
  failureOf(kind: HostedKind, script: ProviderReply, asking?: Asking): Promise<ModelError & { text: string }>
}

export function startProviderAsker(): ProviderAsker {
  let server: ProviderServer
  let models: Models
  before(async () => {
    server = await startProviderServer()
    models = createModels()
  })
  after(async () => {
    await models.close()
    await server.close()
  })

  function ask(
    kind: HostedKind,
    { signal = new AbortController().signal, onText = () => undefined, ...asking }: Asking = {},
  ): Promise<ModelStep> {
    const model = (asking.models ?? models).open({ kind, baseUrl: server.baseUrl(kind), apiKey, ...asking.provider })
    return model.generate({ ...request, ...asking.request }, { signal, onText })
  }

  return {
    get server() {
      return server
    },
    get models() {
      return models
    },
    ask,
    async answer(kind, script) {
      server.script(script)
      const pieces: string[] = []
      const step = await ask(kind, { onText: (text) => pieces.push(text) })
      assert.equal(pieces.join(''), step.text)
      return { ...step, pieces }
    },
    async failureOf(kind, script, asking = {}) {
      server.script(script)
      let text = ''
      try {
        await ask(kind, { ...asking, onText: (piece) => void (text += piece) })
      } catch (error) {
        assert(error instanceof ModelError, String(error))
        assert.doesNotMatch(error.message, /canary/)
        return Object.assign(error, { text })
      }
      assert.fail('it answered')
    },
  }
}
