/**
 * The steps of a turn so far, those that were journalled before included: what was said, called, found and used. Adds up and writes the
 * messages of the next prompt; calls nobody and decides nothing.
 */
import type { Citation, JournalEntry } from '../store/turn-records.ts'
import { cleanText } from './clean-text.ts'
import { readJournal } from './journal.ts'
import type { Step } from './journal.ts'
import type { ModelStep, ModelUsage, PromptMessage } from './models/model.ts'
import { estimatedTokens, tokenBound } from './tokens.ts'

/** What a model was asked with. */
export type Asked = { prompt: PromptMessage[]; toolTokens: number; maxOutputTokens: number }

const betweenSteps = '\n\n'

export class Steps {
  readonly #steps: Step[]
  readonly #stepsBefore: number
  /** Of all steps: what the reply will say. */
  text: string
  #stepText = ''

  /** `stepsBefore`: see `AdmittedTurn`. */
  constructor(journal: JournalEntry[], stepsBefore: number) {
    this.#stepsBefore = stepsBefore
    this.#steps = readJournal(journal)
    this.text = this.#steps
      .map(({ text }) => text)
      .filter((text) => text.length > 0)
      .join(betweenSteps)
  }

  get count(): number {
    return this.#steps.length
  }

  get last(): Step | undefined {
    return this.#steps.at(-1)
  }

  get usage(): ModelUsage {
    return total(this.#steps.map(({ usage }) => usage))
  }

  /** What the steps were allowed to use. */
  get bound(): ModelUsage {
    return total(this.#steps.map(({ bound }) => bound))
  }

  get usageEstimated(): boolean {
    return this.#steps.some((step) => step.usageEstimated)
  }

  /** Answers that said nothing and called nothing. */
  get emptyAnswers(): number {
    return this.#steps.filter(({ text, toolCalls }) => text.length === 0 && toolCalls.length === 0).length
  }

  /** What the calls of all steps found, in their order. */
  get citations(): Citation[] {
    return this.#steps.flatMap(({ toolCalls }) => toolCalls.flatMap(({ result }) => result?.citations ?? []))
  }

  /** Calls that the model asked for in earlier steps, made or not. */
  callsBefore({ step }: Step): number {
    return sum(
      this.#steps.filter((earlier) => earlier.step < step),
      ({ toolCalls }) => toolCalls.length,
    )
  }

  /** Adds a piece of the answer's text; answers the delta that leaves, which carries a paragraph break where a further step begins to speak. */
  append(text: string): string {
    const delta = this.#stepText.length === 0 && this.text.length > 0 ? betweenSteps + text : text
    this.#stepText += text
    this.text += delta
    return delta
  }

  /** The answer to this question is complete. */
  add(answer: ModelStep, asked: Asked): Step {
    const text = this.#stepText
    this.#stepText = ''
    const toolCalls = answer.toolCalls.map(({ id, name, arguments: given }) => ({
      id: cleanText(id),
      name: cleanText(name),
      arguments: cleanText(given),
    }))
    const estimated = (): ModelUsage => ({
      // A bound is half of the bytes, an estimate a quarter.
      promptTokens: sum(asked.prompt, (message) => estimatedTokens(message.content)) + Math.ceil(asked.toolTokens / 2),
      completionTokens: estimatedTokens(text) + sum(toolCalls, (call) => estimatedTokens(call.arguments)),
    })
    const step: Step = {
      step: (this.last?.step ?? this.#stepsBefore) + 1,
      text,
      toolCalls,
      usage: answer.usage ?? estimated(),
      usageEstimated: answer.usage === undefined,
      bound: boundOf(asked),
      ...(answer.continuation === undefined ? {} : { continuation: answer.continuation }),
    }
    this.#steps.push(step)
    return step
  }

  /** What the next prompt says of the steps. An answer that said and called nothing is left out: the model is asked as before. */
  messages(): PromptMessage[] {
    return this.#steps.flatMap(({ text, toolCalls, continuation }): PromptMessage[] => {
      if (toolCalls.length === 0) return []
      const results = toolCalls.map(({ id, result }): PromptMessage => ({ role: 'tool', toolCallId: id, content: result?.text ?? '' }))
      const calls = toolCalls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }))
      const handedBack = continuation === undefined ? {} : { continuation }
      return [{ role: 'assistant', content: text, toolCalls: calls, ...handedBack }, ...results]
    })
  }
}

// Each message costs its provider a few tokens for role and separators; 8 covers the known chat templates.
const frameTokens = 8

/** `billing.hold`: an upper bound of what a step may use. */
export function boundOf({ prompt, toolTokens, maxOutputTokens }: Asked): ModelUsage {
  const messages = sum(prompt, (message) => {
    const answer = message.role === 'assistant' ? answerBound(message) : 0
    return frameTokens + tokenBound(message.content) + answer
  })
  return { promptTokens: messages + toolTokens, completionTokens: maxOutputTokens }
}

function answerBound({ toolCalls = [], continuation }: Extract<PromptMessage, { role: 'assistant' }>): number {
  const handedBack = continuation === undefined ? 0 : tokenBound(JSON.stringify(continuation))
  return handedBack + sum(toolCalls, (call) => tokenBound(call.name + call.arguments))
}

const sum = <Item>(items: Item[], of: (item: Item) => number): number => items.reduce((total, item) => total + of(item), 0)

const total = (usages: ModelUsage[]): ModelUsage => ({
  promptTokens: sum(usages, ({ promptTokens }) => promptTokens),
  completionTokens: sum(usages, ({ completionTokens }) => completionTokens),
})
