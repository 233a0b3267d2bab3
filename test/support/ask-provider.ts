/**
 * Calls a model of a hosted provider over real HTTP against a scripted server. Call it once at the top of a test file: it starts the server
 * before the tests of the file and stops it after them.
 */
import { after, before } from 'node:test'
import type { ModelStep } from '../../src/agent/models/model.ts'
import { createModels } from '../../src/agent/models/models.ts'
import type { Models } from '../../src/agent/models/models.ts'
import { answerOf, apiKey, failureOf, usualRequest } from './ask-model.ts'
import type { Asking, Failure } from './ask-model.ts'
import type { HostedKind } from './provider-dialects.ts'
import { startProviderServer } from './provider-server.ts'
import type { ProviderReply, ProviderServer } from './provider-server.ts'

export type ProviderAsker = {
  readonly server: ProviderServer
  readonly models: Models
  ask(kind: HostedKind, asking?: Asking): Promise<ModelStep>
  /** Scripts one reply and returns its result, after checking that the pieces add up to the text. */
  answer(kind: HostedKind, script: ProviderReply): Promise<ModelStep & { pieces: string[] }>
  /** Scripts one reply and returns its ModelError with the text before it. Fails if there is none. */
  failureOf(kind: HostedKind, script: ProviderReply, asking?: Asking): Promise<Failure>
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
    { signal = new AbortController().signal, onText = () => undefined, onGenerated = () => undefined, ...asking }: Asking = {},
  ): Promise<ModelStep> {
    const model = (asking.models ?? models).open({ kind, baseUrl: server.baseUrl(kind), apiKey, ...asking.provider })
    return model.generate({ ...usualRequest, ...asking.request }, { signal, onText, onGenerated })
  }

  return {
    get server() {
      return server
    },
    get models() {
      return models
    },
    ask,
    answer(kind, script) {
      server.script(script)
      return answerOf((asking) => ask(kind, asking))
    },
    failureOf(kind, script, asking) {
      server.script(script)
      return failureOf((given) => ask(kind, given), asking)
    },
  }
}
