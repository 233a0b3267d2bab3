/**
 * A model and its tools whose answers are determined by the message: `… plan: effect, look+effect` calls these tools step by step and then
 * returns text. It counts its calls, and no two replies are the same. The simulation decides what fails and when each piece arrives.
 */
import { isDeepStrictEqual } from 'node:util'
import { ModelError } from '../../src/agent/models/model.ts'
import type { Model, ModelRequest, ModelStep } from '../../src/agent/models/model.ts'
import type { Toolbox } from '../../src/agent/tools/tools.ts'
import { raceAbort } from '../../src/agent/race-abort.ts'
import { AnthropicAnswer } from '../../src/agent/models/apis/anthropic-answer.ts'
import { toolPrices, usage } from './store-charge.ts'
import type { Accuse, StoreModel } from './store-model.ts'

/**
 * `cut`: the connection breaks after the first piece of text. `hang`: no answer until the call is aborted or the simulation ends all
 * faults.
 */
export type ModelFault = 'unavailable' | 'refused' | 'too_long' | 'cut' | 'hang' | 'empty'
export type ToolFault = 'hang' | 'error'

/** Resolves when the simulation schedules it, in the process that called. */
export type Pause = (label: string) => Promise<void>
export type Upstream = ReturnType<typeof createUpstream>

/** The usage of a step, reported as Anthropic does, whose prompt tokens exclude the cache, and read by its adapter (`billing.token-kinds`). */
function reportedUsage(): Pick<ModelStep, 'usage'> {
  const answer = new AnthropicAnswer({ onText: () => {}, secret: '', request: { maxOutputTokens: 100, tools: [] } })
  const { promptTokens, cachedPromptTokens: cacheRead, cacheWriteTokens: cacheWrite, completionTokens, reasoningTokens } = usage
  answer.whole({
    type: 'message',
    content: [],
    stop_reason: 'end_turn',
    usage: {
      input_tokens: promptTokens - cacheRead - cacheWrite,
      cache_read_input_tokens: cacheRead,
      cache_creation_input_tokens: cacheWrite,
      output_tokens: completionTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
    },
  })
  const { usage: read } = answer.step()
  return { usage: read }
}

const parameters = { type: 'object', properties: { part: { type: 'string' } } }
const planOf = (message: string): string[] => (/plan: (.+)$/.exec(message)?.[1] ?? '').split(', ').filter((step) => step !== '')

export function createUpstream({ storeModel, accuse }: { storeModel: StoreModel; accuse: Accuse }) {
  const modelFaults: ModelFault[] = []
  const toolFaults: ToolFault[] = []
  const hanging = new Set<() => void>()
  /** Answered calls, counted by message and step. */
  const asked = new Map<string, number>()
  const effects = new Map<string, string>()
  let replies = 0
  let shortened = false
  let holding = false

  /** Waits until `heal` is called. */
  const hang = (pause: Pause): Promise<void> => new Promise((resolve) => hanging.add(() => void pause('hanging call').then(resolve)))

  function countCall({ messages }: ModelRequest, fault: ModelFault | undefined): { message: string; step: number } {
    const at = messages.findLastIndex(({ role }) => role === 'user')
    const message = messages[at]!.content
    const step = messages.slice(at).filter(({ role }) => role === 'assistant').length
    const own = storeModel.attempts.filter((attempt) => attempt.message === message)
    const dialog = messages.slice(0, at).filter(({ role }) => role !== 'system')
    // After a model has refused a prompt as too long, it is called with a shorter history.
    if (!shortened && !own.some(({ history }) => isDeepStrictEqual(history, dialog)))
      accuse('history', `"${message}" was asked after ${JSON.stringify(dialog)}`)
    shortened ||= fault === 'too_long'
    const count = (asked.get(`${message} ${step}`) ?? 0) + 1
    const may = own.filter(({ stepsHanded }) => stepsHanded <= step).length
    if (count > may) accuse('one-model-call', `step ${step} of "${message}" is asked for the ${count}th time, in ${may} attempts`)
    // A call that fails by the script may be repeated in the same attempt.
    if (fault === undefined) asked.set(`${message} ${step}`, count)
    return { message, step }
  }

  function openModel(pause: Pause): Model {
    return {
      async generate(request, { signal, onText }) {
        const fault = holding ? 'hang' : modelFaults.shift()
        const { message, step } = countCall(request, fault)
        const calls = planOf(message)[step]?.split('+') ?? []
        // A first step that starts with an effect has no text, so that a cancel after it leaves a turn without a reply.
        const isSilent = step === 0 && calls[0] === 'effect'
        const text = calls.length === 0 ? [`Reply ${++replies} `, `to ${message}.`] : isSilent ? [] : [`Step ${step}. `]
        const piece = (): Promise<void> => raceAbort(pause('model'), signal)
        await piece()
        if (fault === 'hang') {
          await raceAbort(hang(pause), signal)
          throw new ModelError('unavailable', 'provider_interrupted', 'the connection was lost')
        }
        if (fault === 'unavailable' || fault === 'refused' || fault === 'too_long')
          throw new ModelError(fault, 'provider_error', 'by the script')
        if (fault === 'empty') return { text: '', toolCalls: [], finishReason: 'stop', ...reportedUsage() }
        for (const [index, one] of text.entries()) {
          if (index > 0) await piece()
          onText(one)
          if (fault === 'cut') throw new ModelError('unavailable', 'provider_interrupted', 'cut')
        }
        const toolCalls = calls.map((name, part) => ({ id: `call_${part}`, name, arguments: JSON.stringify({ part: `${step}.${part}` }) }))
        const finishReason = toolCalls.length > 0 ? 'tool_calls' : 'stop'
        return { text: text.join(''), toolCalls, finishReason, ...reportedUsage() } satisfies ModelStep
      },
    }
  }

  function openToolbox(pause: Pause): Toolbox {
    const names = ['effect', 'look']
    return {
      definitions: names.map((name) => ({ name, description: name, parameters })),
      sideEffects: (name) => (names.includes(name) ? name === 'effect' : undefined),
      price: (name) => toolPrices[name] ?? 0,
      async call({ name, arguments: given, idempotencyKey, signal }) {
        const requestId = idempotencyKey.split(':')[0]!
        if (!storeModel.turns.has(requestId)) accuse('durable-first', `a tool is called for ${requestId}, which is not stored`)
        const effect = `${requestId} ${given}`
        const before = effects.get(effect)
        if (name === 'effect' && before !== undefined)
          accuse('side-effects', `${effect} was done as ${before} and again as ${idempotencyKey}`)
        effects.set(effect, idempotencyKey)
        const fault = toolFaults.shift()
        await raceAbort(fault === 'hang' ? hang(pause) : pause('tool'), signal)
        return {
          text: fault === 'error' ? 'Error: by the script.' : `Done: ${given}`,
          isError: fault === 'error',
          answered: true,
          passages: [],
        }
      },
    }
  }

  return {
    openModel,
    openToolbox,
    faults: { model: modelFaults, tool: toolFaults },
    /** If a call hangs, makes every further call hang until `heal`. Returns whether one hangs. */
    holdAll(): boolean {
      holding = hanging.size > 0
      return holding
    },
    /** Ends all hanging calls and stops all faults. */
    heal(): void {
      holding = false
      modelFaults.length = 0
      toolFaults.length = 0
      for (const end of hanging) end()
      hanging.clear()
    },
  }
}
