/**
 * Collects the steps of a turn, including the journaled ones: text, tool calls, citations and usage. It totals the usage and writes the
 * messages of the next prompt; it makes no calls and no decisions.
 */
import type { Citation, JournalEntry } from '../store/turn-records.ts'
import { cleanText } from './clean-text.ts'
import { readJournal } from './journal.ts'
import type { Step, UsageBound } from './journal.ts'
import { addedReports, believedUsage, boundOf, reportsAnything, usageOf } from './call-usage.ts'
import type { Asked, CallUsage } from './call-usage.ts'
import type { ModelStep, ModelUsage, Passage, PromptMessage, UsageSoFar } from './models/model.ts'

/**
 * The text of all steps, earlier attempts included, with its usage: what the provider reported, or else an estimate. `toolCallsPrice`: of all
 * finished tool calls, in 10⁻⁸ USD (`billing.tool-price`).
 */
export type Generated = { text: string; usage: ModelUsage; usageEstimated: boolean; toolCallsPrice: number; citations: Citation[] }

const betweenSteps = '\n\n'

export class Steps {
  readonly #steps: Step[]
  readonly #stepsBefore: number
  /** The passages in the prompt. */
  passages: Passage[] = []
  /** Text of all steps so far, which becomes the reply. */
  text: string
  #stepText = ''
  /** Text was passed on, even if it was taken back. */
  hasSaid: boolean
  /** UTF-8 bytes of everything that the current call generated: in its current attempt, and in the failed ones before. */
  #generatedBytes = 0
  #failedBytes = 0
  /** Reads what the provider has reported about the current attempt. */
  #soFar: (() => UsageSoFar) | undefined
  /** What was reported about the failed attempts of the current call. */
  #failedReports: UsageSoFar | undefined
  /** The usage of the last attempt of a call that ended early, after it had generated something or its provider had reported usage. */
  #unfinished: CallUsage | undefined

  /** For `stepsBefore` see `AdmittedTurn` in src/store/turn-records.ts. */
  constructor(journal: JournalEntry[], stepsBefore: number) {
    this.#stepsBefore = stepsBefore
    this.#steps = readJournal(journal)
    this.text = this.#steps
      .map(({ text }) => text)
      .filter((text) => text.length > 0)
      .join(betweenSteps)
    this.hasSaid = this.text.length > 0
  }

  get count(): number {
    return this.#steps.length
  }

  /** The number of the step that the next model call makes. */
  get next(): number {
    return (this.last?.step ?? this.#stepsBefore) + 1
  }

  /** The text of the current call so far. */
  get stepText(): string {
    return this.#stepText
  }

  get last(): Step | undefined {
    return this.#steps.at(-1)
  }

  get usage(): ModelUsage {
    const finished = this.#steps.map(({ usage }) => usage)
    return total(this.#unfinished ? [...finished, this.#unfinished.usage] : finished)
  }

  /** Upper bound of what all steps so far were allowed to use. */
  get bound(): UsageBound {
    const bounds = this.#steps.map(({ bound }) => bound)
    return {
      promptTokens: sum(bounds, ({ promptTokens }) => promptTokens),
      completionTokens: sum(bounds, ({ completionTokens }) => completionTokens),
    }
  }

  /** `billing.tool-price`: what the finished tool calls of all steps cost, in 10⁻⁸ USD. Each counts once, however often it was journaled. */
  get toolCallsPrice(): number {
    return sum(this.#steps, ({ toolCalls }) => sum(toolCalls, ({ result }) => result?.price ?? 0))
  }

  /**
   * The current call has ended without an answer. Returns what the turn has used (`billing.unpaid`), with all attempts of this call: what its
   * provider reported, and an estimate of the rest, from its text and from what no caller sees, such as reasoning. A call that generated
   * nothing, and of which nothing was reported, counts nothing: whether its provider used anything is not known. If its text becomes the
   * reply (`turn.cancel`), only its last attempt is charged, as for a complete reply.
   */
  endEarly(asked: Asked): ModelUsage {
    const finished = this.#steps.map(({ usage }) => usage)
    this.#unfinished = this.#usageOfUnfinished(asked, this.#generatedBytes, reportsOf(this.#soFar))
    this.failAttempt()
    const ofAllAttempts = this.#usageOfUnfinished(asked, this.#failedBytes, this.#failedReports)
    return total(ofAllAttempts ? [...finished, ofAllAttempts.usage] : finished)
  }

  #usageOfUnfinished(asked: Asked, generatedBytes: number, reported: UsageSoFar | undefined): CallUsage | undefined {
    const text = this.#stepText
    if (text.length === 0 && generatedBytes === 0 && !reported) return undefined
    return usageOf(asked, { text, toolCalls: [], generatedBytes, reported })
  }

  /** Counts what the model generates, as the reader of its answer reports it. */
  noteGenerated(bytes: number): void {
    this.#generatedBytes += bytes
  }

  /** `soFar` returns what the provider has reported about the attempt that starts. */
  readReports(soFar: () => UsageSoFar): void {
    this.#soFar = soFar
  }

  /** The current attempt of the call has failed. The reply is not charged for it, but `endEarly` counts it. */
  failAttempt(): void {
    const reported = reportsOf(this.#soFar)
    this.#soFar = undefined
    if (reported) this.#failedReports = addedReports(this.#failedReports, reported)
    this.#failedBytes += this.#generatedBytes
    this.#generatedBytes = 0
  }

  /** What all steps have generated. */
  get generated(): Generated {
    const { text, usage, usageEstimated, toolCallsPrice } = this
    return { text, usage, usageEstimated, toolCallsPrice, citations: cited(this.passages, this.citations) }
  }

  get usageEstimated(): boolean {
    return this.#unfinished?.isEstimated === true || this.#steps.some((step) => step.usageEstimated)
  }

  /** Number of answers without text and without tool calls. */
  get emptyAnswers(): number {
    return this.#steps.filter(({ text, toolCalls }) => text.length === 0 && toolCalls.length === 0).length
  }

  /** Citations of all tool calls, in the order of the calls. */
  get citations(): Citation[] {
    return this.#steps.flatMap(({ toolCalls }) => toolCalls.flatMap(({ result }) => result?.citations ?? []))
  }

  /** Number of tool calls requested in all steps, including calls that were not made. */
  get calls(): number {
    return sum(this.#steps, ({ toolCalls }) => toolCalls.length)
  }

  /** Number of tool calls requested in earlier steps, including calls that were not made. */
  callsBefore({ step }: Step): number {
    return sum(
      this.#steps.filter((earlier) => earlier.step < step),
      ({ toolCalls }) => toolCalls.length,
    )
  }

  /**
   * Adds a piece of the current answer and returns the delta to send. Where a further step starts its text, the delta begins with a blank
   * line.
   */
  append(text: string): string {
    const delta = this.#stepText.length === 0 && this.text.length > 0 ? betweenSteps + text : text
    this.#stepText += text
    this.text += delta
    this.hasSaid = true
    return delta
  }

  /** The text of the current answer so far was reasoning. Returns the text of the steps before. */
  discardText(): string {
    const separator = this.#stepText.length > 0 && this.text.length > this.#stepText.length ? betweenSteps.length : 0
    this.text = this.text.slice(0, this.text.length - this.#stepText.length - separator)
    this.#stepText = ''
    return this.text
  }

  /** Turns the complete answer to this request into the next step, and returns it. */
  add(answer: ModelStep, asked: Asked): Step {
    const text = this.#stepText
    const generatedBytes = this.#generatedBytes
    this.#stepText = ''
    this.#unfinished = undefined
    this.#generatedBytes = this.#failedBytes = 0
    const reported = this.#soFar?.()
    this.#soFar = this.#failedReports = undefined
    const toolCalls = answer.toolCalls.map(({ id, name, arguments: given }) => ({
      id: cleanText(id),
      name: cleanText(name),
      arguments: cleanText(given),
    }))
    const bound = boundOf(asked)
    const believed = answer.usage && believedUsage(answer.usage, bound)
    const { usage, isEstimated } =
      answer.usage && believed
        ? { usage: believed, isEstimated: believed !== answer.usage || answer.usageImpossible === true }
        : usageOf(asked, { text, toolCalls, generatedBytes, reported })
    const step: Step = {
      step: this.next,
      text,
      toolCalls,
      usage,
      usageEstimated: isEstimated,
      bound,
      ...(answer.continuation === undefined ? {} : { continuation: answer.continuation }),
    }
    this.#steps.push(step)
    return step
  }

  /**
   * Returns the messages that the next prompt contains for these steps. A step without tool calls adds none: the model is asked the same
   * again.
   */
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

/** Undefined if the provider has reported nothing. */
function reportsOf(soFar: (() => UsageSoFar) | undefined): UsageSoFar | undefined {
  const reported = soFar?.()
  return reported && reportsAnything(reported) ? reported : undefined
}

// Characters of titles and sections stay below 2 MiB. More citations than this help no one.
const maxCitations = 1000

/** `tools.citations`: each document and section once; first the passages in the prompt, then those that a tool found. */
function cited(passages: Passage[], found: Citation[]): Citation[] {
  const once = new Map<string, Citation>()
  for (const { documentId, title, section } of [...passages, ...found]) {
    if (once.size === maxCitations) break
    const key = `${documentId} ${section}`
    if (!once.has(key)) once.set(key, { documentId, title, section })
  }
  return [...once.values()]
}

const sum = <Item>(items: Item[], of: (item: Item) => number): number => items.reduce((total, item) => total + of(item), 0)

const total = (usages: ModelUsage[]): ModelUsage => ({
  promptTokens: sum(usages, ({ promptTokens }) => promptTokens),
  cachedPromptTokens: sum(usages, ({ cachedPromptTokens }) => cachedPromptTokens),
  cacheWriteTokens: sum(usages, ({ cacheWriteTokens }) => cacheWriteTokens),
  completionTokens: sum(usages, ({ completionTokens }) => completionTokens),
  reasoningTokens: sum(usages, ({ reasoningTokens }) => reasoningTokens),
})
