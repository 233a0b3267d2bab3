/**
 * A model and its tools, whose every answer is told by the message: `… plan: effect, look+effect` asks for these tools step by step and then
 * speaks. Counts what it is asked; no two replies are alike. What goes wrong is the world's to say, and every piece comes when the world lets it.
 */
import { isDeepStrictEqual } from 'node:util'
import { ModelError } from '../../src/agent/models/model.ts'
import type { Model, ModelRequest, ModelStep } from '../../src/agent/models/model.ts'
import type { Toolbox } from '../../src/agent/tools/tools.ts'
import { raceAbort } from '../../src/agent/race-abort.ts'
import type { Accuse, StoreModel } from './store-model.ts'

/** `cut`: after its first piece of text. `hang`: until it is aborted or the world is healed. */
export type ModelFault = 'unavailable' | 'refused' | 'too_long' | 'cut' | 'hang' | 'empty'
export type ToolFault = 'hang' | 'error'

/** Resolves when the world lets it, in the process that called. */
export type Pause = (label: string) => Promise<void>
export type Upstream = ReturnType<typeof createUpstream>

const usage = { promptTokens: 10, completionTokens: 5 }
const parameters = { type: 'object', properties: { part: { type: 'string' } } }
const planOf = (message: string): string[] => (/plan: (.+)$/.exec(message)?.[1] ?? '').split(', ').filter((step) => step !== '')

export function createUpstream({ storeModel, accuse }: { storeModel: StoreModel; accuse: Accuse }) {
  const modelFaults: ModelFault[] = []
  const toolFaults: ToolFault[] = []
  const hanging = new Set<() => void>()
  /** By message and step, those that were answered. */
  const asked = new Map<string, number>()
  const effects = new Map<string, string>()
  let replies = 0
  let shortened = false
  let holding = false

  /** Waits for what never comes by itself. */
  const hang = (pause: Pause): Promise<void> => new Promise((resolve) => hanging.add(() => void pause('hanging call').then(resolve)))

  function countCall({ messages }: ModelRequest, fault: ModelFault | undefined): { message: string; step: number } {
    const at = messages.findLastIndex(({ role }) => role === 'user')
    const message = messages[at]!.content
    const step = messages.slice(at).filter(({ role }) => role === 'assistant').length
    const own = storeModel.attempts.filter((attempt) => attempt.message === message)
    const dialog = messages.slice(0, at).filter(({ role }) => role !== 'system')
    // A model that finds its prompt too long is asked with less.
    if (!shortened && !own.some(({ history }) => isDeepStrictEqual(history, dialog)))
      accuse('history', `"${message}" was asked after ${JSON.stringify(dialog)}`)
    shortened ||= fault === 'too_long'
    const count = (asked.get(`${message} ${step}`) ?? 0) + 1
    const may = own.filter(({ stepsHanded }) => stepsHanded <= step).length
    if (count > may) accuse('one-model-call', `step ${step} of "${message}" is asked for the ${count}th time, in ${may} attempts`)
    // What failed by our script may be asked again in the same attempt.
    if (fault === undefined) asked.set(`${message} ${step}`, count)
    return { message, step }
  }

  function openModel(pause: Pause): Model {
    return {
      async generate(request, { signal, onText }) {
        const fault = holding ? 'hang' : modelFaults.shift()
        const { message, step } = countCall(request, fault)
        const calls = planOf(message)[step]?.split('+') ?? []
        const text = calls.length > 0 ? [`Step ${step}. `] : [`Reply ${++replies} `, `to ${message}.`]
        const piece = (): Promise<void> => raceAbort(pause('model'), signal)
        await piece()
        if (fault === 'hang') {
          await raceAbort(hang(pause), signal)
          throw new ModelError('unavailable', 'the connection was lost')
        }
        if (fault === 'unavailable' || fault === 'refused' || fault === 'too_long') throw new ModelError(fault, 'by the script')
        if (fault === 'empty') return { text: '', toolCalls: [], finishReason: 'stop', usage }
        for (const [index, one] of text.entries()) {
          if (index > 0) await piece()
          onText(one)
          if (fault === 'cut') throw new ModelError('unavailable', 'cut')
        }
        const toolCalls = calls.map((name, part) => ({ id: `call_${part}`, name, arguments: JSON.stringify({ part: `${step}.${part}` }) }))
        const finishReason = toolCalls.length > 0 ? 'tool_calls' : 'stop'
        return { text: text.join(''), toolCalls, finishReason, usage } satisfies ModelStep
      },
    }
  }

  function openToolbox(pause: Pause): Toolbox {
    const names = ['effect', 'look']
    return {
      definitions: names.map((name) => ({ name, description: name, parameters })),
      sideEffects: (name) => (names.includes(name) ? name === 'effect' : undefined),
      async call({ name, arguments: given, idempotencyKey, signal }) {
        const [requestId] = idempotencyKey.split(':')
        const effect = `${requestId} ${given}`
        const before = effects.get(effect)
        if (name === 'effect' && before !== undefined)
          accuse('side-effects', `${effect} was done as ${before} and again as ${idempotencyKey}`)
        effects.set(effect, idempotencyKey)
        const fault = toolFaults.shift()
        await raceAbort(fault === 'hang' ? hang(pause) : pause('tool'), signal)
        return { text: fault === 'error' ? 'Error: by the script.' : `Done: ${given}`, isError: fault === 'error', passages: [] }
      },
    }
  }

  return {
    openModel,
    openToolbox,
    faults: { model: modelFaults, tool: toolFaults },
    /** From now on nothing answers until all is healed, if something hangs; answers whether it does. */
    holdAll(): boolean {
      holding = hanging.size > 0
      return holding
    },
    /** What hangs comes to an end, and nothing fails from now on. */
    heal(): void {
      holding = false
      modelFaults.length = 0
      toolFaults.length = 0
      for (const end of hanging) end()
      hanging.clear()
    },
  }
}
