/**
 * Calls a model of the OpenAI Chat Completions API over real HTTP against a scripted server. Call it once at the top of a test file: it
 * starts the server before the tests of the file and stops it after them.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { after, before } from 'node:test'
import { ModelError } from '../../src/agent/models/model.ts'
import type { ModelRequest, ModelStep } from '../../src/agent/models/model.ts'
import { createModels } from '../../src/agent/models/models.ts'
import type { Models, ModelsOptions, Provider } from '../../src/agent/models/models.ts'
import { startModelServer } from './model-server.ts'
import type { ModelServer, Script } from './model-server.ts'

/** Contains the word "canary", which no error may show. */
export const apiKey = 'sk-canary-4711'

/** The default request. */
export const usualRequest: ModelRequest = {
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
  onGenerated?: (bytes: number) => void
}
export type Failure = ModelError & { text: string }
type Ask = (asking: Asking) => Promise<ModelStep>

/** Calls the model and returns the pieces, after checking that they add up to the text. */
export async function answerOf(ask: Ask): Promise<ModelStep & { pieces: string[] }> {
  const pieces: string[] = []
  const step = await ask({ onText: (text) => pieces.push(text) })
  assert.equal(pieces.join(''), step.text)
  return { ...step, pieces }
}

/** Calls the model and returns its ModelError with the text before it. Fails if there is none, or if it contains the API key. */
export async function failureOf(ask: Ask, asking: Asking = {}): Promise<Failure> {
  let text = ''
  const onText = (piece: string): void => {
    text += piece
    asking.onText?.(piece)
  }
  try {
    await ask({ ...asking, onText })
  } catch (error) {
    assert(error instanceof ModelError, String(error))
    assert.doesNotMatch(error.message, /canary/)
    return Object.assign(error, { text })
  }
  assert.fail('it answered')
}

export type Asker = {
  readonly server: ModelServer
  readonly models: Models
  ask(asking?: Asking): Promise<ModelStep>
  /** Scripts one reply and returns its result, after checking that the pieces add up to the text. */
  answer(script: Script): Promise<ModelStep & { pieces: string[] }>
  /** Calls the model and returns its ModelError with the text before it. Fails if there is none. */
  failure(asking?: Asking): Promise<Failure>
  /** Scripts one reply and returns its failure. */
  failureOf(script: Script): Promise<Failure>
}

export function startAsker(): Asker {
  let server: ModelServer
  let models: Models
  before(async () => {
    server = await startModelServer()
    models = createModels()
  })
  after(async () => {
    await models.close()
    await server.close()
  })

  function ask({
    signal = new AbortController().signal,
    onText = () => undefined,
    onGenerated = () => undefined,
    ...asking
  }: Asking = {}): Promise<ModelStep> {
    const model = (asking.models ?? models).open({ kind: 'openai-compatible', baseUrl: server.baseUrl, apiKey, ...asking.provider })
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
    answer(script) {
      server.script(script)
      return answerOf(ask)
    },
    failure: (asking) => failureOf(ask, asking),
    failureOf(script) {
      server.script(script)
      return failureOf(ask)
    },
  }
}

/** Runs with separate models, for deadlines that a test can reach. */
export async function withModels<Result>(options: ModelsOptions, run: (models: Models) => Promise<Result>): Promise<Result> {
  const models = createModels(options)
  try {
    return await run(models)
  } finally {
    await models.close()
  }
}

/** Runs with a bare TCP server, for what no HTTP server would send. Destroys all of its sockets at the end. */
export async function withTcpServer<Result>(onSocket: (socket: Socket) => void, run: (port: number) => Promise<Result>): Promise<Result> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    onSocket(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    return await run((server.address() as AddressInfo).port)
  } finally {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
}
