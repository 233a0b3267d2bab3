/**
 * Merges the token counts that a provider reported for one call, and normalizes them (`billing.token-kinds`). Providers report once, in
 * each event, or in parts, and some end with zeros: a later report never replaces a larger count. Reads the names of all dialects, because
 * servers and gateways mix them.
 */
import type { ModelStep, ModelUsage, UsageSoFar } from './model.ts'
import { isCount, isObject } from './transport/fields.ts'
import type { Fields } from './transport/fields.ts'

type Kind = keyof ModelUsage
/** `NaN`: the provider sent something else than a count. Undefined: it sent nothing. */
type Report = Record<Kind, number | undefined>

export class UsageReports {
  readonly #merged: Partial<Record<Kind, number>> = {}
  /** A kind that is part of a total was not a count. */
  #hasInvalidKind = false
  readonly #invalidTotals = new Set<Kind>()
  #promptExcludesCache = false
  /** What llama.cpp sends beside the usage, or in place of it. */
  #timings: Fields | undefined
  /** UTF-8 bytes that the model has generated, and how many of them a report includes. */
  #generatedBytes = 0
  #countedBytes = 0
  /** The current event has reported completion tokens, which include what the event itself contains. */
  #isCounted = false
  /** The totals of each report that differs from the one before, for the trace. */
  readonly totals: string[] = []

  /** Reads the reports of an event or of a part of it, in whatever field they are. */
  readFrom(holder: Fields): void {
    for (const name of ['usage', 'usageMetadata', 'usage_metadata'] as const) if (isObject(holder[name])) this.read(holder[name])
    if (isObject(holder.x_groq) && isObject(holder.x_groq.usage)) this.read(holder.x_groq.usage)
    if (isObject(holder.timings)) this.#readLater(holder.timings)
  }

  /** A model has generated more, of any kind. */
  generated(bytes: number): void {
    this.#generatedBytes += bytes
  }

  /** Call it before each event of a stream. */
  nextEvent(): void {
    if (!this.#isCounted) return
    this.#countedBytes = this.#coveredBytes
    this.#isCounted = false
  }

  read(usage: Fields): void {
    const details = { ...fieldsOf(usage, 'prompt_tokens_details'), ...fieldsOf(usage, 'input_tokens_details') }
    const generated = { ...fieldsOf(usage, 'completion_tokens_details'), ...fieldsOf(usage, 'output_tokens_details') }
    const cached = count(
      details.cached_tokens ??
        usage.cache_read_input_tokens ??
        usage.cachedContentTokenCount ??
        usage.prompt_cache_hit_tokens ??
        usage.cached_tokens,
    )
    const written = count(details.cache_write_tokens ?? usage.cache_creation_input_tokens) ?? sumOf(usage.cache_creation)
    // Anthropic's names: only there do the prompt tokens exclude what was read from the cache or written to it.
    if (!isSet(usage.prompt_tokens) && (isSet(usage.cache_read_input_tokens) || isSet(usage.cache_creation_input_tokens)))
      this.#promptExcludesCache = true
    const thoughts = count(usage.thoughtsTokenCount)
    const prompt = count(usage.prompt_tokens ?? usage.input_tokens ?? usage.promptTokenCount ?? usage.promptTokens ?? usage.inputTokens)
    const candidates = count(usage.candidatesTokenCount)
    const completion = count(usage.completion_tokens ?? usage.output_tokens ?? usage.completionTokens ?? usage.outputTokens)
    const reasoning = count(generated.reasoning_tokens ?? generated.thinking_tokens ?? usage.reasoning_tokens) ?? thoughts
    // The fractions that are not billed would look like reasoning beside the completion.
    const areWhole = ![usage.prompt_tokens, usage.completion_tokens].some((value) => String(value).includes('.'))
    this.#merge({
      promptTokens: plus(prompt, count(usage.toolUsePromptTokenCount)),
      cachedPromptTokens: cached,
      cacheWriteTokens: written,
      ...withReasoning({
        prompt,
        completion: completion ?? plus(candidates, thoughts),
        reasoning,
        cached,
        total: areWhole ? count(usage.total_tokens) : undefined,
      }),
    })
  }

  /**
   * Returns no usage if a total is missing, or if both are zero: servers that do not count send zeros (`billing.usage-missing`). Kinds that are
   * not counts, or exceed their total, are impossible: then all tokens are billed at the undiscounted price.
   */
  usage(): Pick<ModelStep, 'usage' | 'usageImpossible'> {
    if (this.totals.length === 0 && this.#timings) this.#readTimings(this.#timings)
    const { promptTokens: base, completionTokens, cachedPromptTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = this.#merged
    if (base === undefined || completionTokens === undefined) return { usage: undefined }
    // An invalid total is as good as none, and a zero beside it says nothing.
    const isUnknown = (kind: Kind): boolean => this.#invalidTotals.has(kind) && !this.#merged[kind]
    if (isUnknown('promptTokens') || isUnknown('completionTokens')) return { usage: undefined }
    const promptTokens = this.#promptExcludesCache ? base + cachedPromptTokens + cacheWriteTokens : base
    if (promptTokens + completionTokens === 0) return { usage: undefined }
    const arePossible =
      !this.#hasInvalidKind && cachedPromptTokens + cacheWriteTokens <= promptTokens && reasoningTokens <= completionTokens
    if (arePossible) return { usage: { promptTokens, cachedPromptTokens, cacheWriteTokens, completionTokens, reasoningTokens } }
    return {
      usage: { promptTokens, cachedPromptTokens: 0, cacheWriteTokens: 0, completionTokens, reasoningTokens: 0 },
      usageImpossible: true,
    }
  }

  /** Returns what was reported, of an answer that may be incomplete (`turn.cancel`, `billing.usage-missing`). */
  soFar(): UsageSoFar {
    if (this.totals.length === 0 && this.#timings) this.#readTimings(this.#timings)
    const { promptTokens: base, completionTokens: completion, ...kinds } = this.#merged
    const { cachedPromptTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = kinds
    // An invalid total makes the other one doubtful, too.
    if ([...this.#invalidTotals].some((kind) => !this.#merged[kind])) return nothingReported
    const cached = cachedPromptTokens + cacheWriteTokens
    // Servers that do not count send zeros.
    const promptTokens = (base === undefined ? 0 : this.#promptExcludesCache ? base + cached : base) || undefined
    const completionTokens = completion || undefined
    const isPromptPossible = !this.#hasInvalidKind && cached <= (promptTokens ?? cached)
    const isCompletionPossible = !this.#hasInvalidKind && reasoningTokens <= (completionTokens ?? reasoningTokens)
    return {
      promptTokens,
      completionTokens,
      cachedPromptTokens: isPromptPossible ? cachedPromptTokens : 0,
      cacheWriteTokens: isPromptPossible ? cacheWriteTokens : 0,
      reasoningTokens: isCompletionPossible ? reasoningTokens : 0,
      countedBytes: completionTokens === undefined ? 0 : this.#coveredBytes,
      isImpossible: !isPromptPossible || !isCompletionPossible,
    }
  }

  get #coveredBytes(): number {
    return this.#isCounted ? this.#generatedBytes : this.#countedBytes
  }

  #readLater(timings: Fields): void {
    this.#timings = timings
    if (this.totals.length === 0) this.#isCounted = true
  }

  #readTimings({ prompt_n: prompt, cache_n: cached, predicted_n: completion }: Fields): void {
    const promptTokens = plus(count(prompt), count(cached))
    const none = { cacheWriteTokens: undefined, reasoningTokens: undefined }
    const isCounted = this.#isCounted
    this.#merge({ promptTokens, cachedPromptTokens: count(cached), completionTokens: count(completion), ...none })
    this.#isCounted = isCounted
  }

  #merge(report: Report): void {
    for (const kind of Object.keys(report) as Kind[]) {
      const tokens = report[kind]
      if (tokens === undefined) continue
      const isTotal = kind === 'promptTokens' || kind === 'completionTokens'
      if (Number.isNaN(tokens)) {
        if (isTotal) this.#invalidTotals.add(kind)
        else this.#hasInvalidKind = true
      } else {
        this.#merged[kind] = Math.max(tokens, this.#merged[kind] ?? 0)
        // A smaller count is not of all that was generated.
        if (kind === 'completionTokens' && tokens > 0 && tokens === this.#merged[kind]) this.#isCounted = true
      }
    }
    const totals = `${report.promptTokens ?? '–'}/${report.completionTokens ?? '–'}`
    if (this.totals.at(-1) !== totals && this.totals.length < maxTotals) this.totals.push(totals)
  }
}

const nothingReported: UsageSoFar = {
  promptTokens: undefined,
  completionTokens: undefined,
  cachedPromptTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  countedBytes: 0,
  isImpossible: false,
}

/** Of reports that are shown. Some servers send one with each token. */
const maxTotals = 8

/**
 * The completion tokens of xAI and Gemini exclude the reasoning in OpenAI's dialect, and their totals include it. Gemini does not report it
 * otherwise. A server whose prompt tokens exclude its cache would have the same difference, so that is left as it is.
 */
function withReasoning(counts: Record<'prompt' | 'completion' | 'reasoning' | 'cached' | 'total', number | undefined>) {
  const { prompt, completion, reasoning, cached, total } = counts
  const reported = { completionTokens: completion, reasoningTokens: reasoning }
  // A prompt without tokens: the server does not count.
  if (!isCount(prompt) || prompt === 0 || !isCount(completion) || !isCount(total)) return reported
  const beside = total - prompt - completion
  const isReasoning = reasoning === undefined ? beside > 0 && beside !== cached : beside === reasoning
  return isReasoning ? { completionTokens: completion + beside, reasoningTokens: beside } : reported
}

/** Returns a count that may be written as a text or with a fraction, which is not billed. */
function count(value: unknown): number | undefined {
  if (!isSet(value)) return undefined
  const number = typeof value === 'string' && /^\d+(\.\d*)?$/.test(value.trim()) ? Number(value) : value
  const whole = typeof number === 'number' ? Math.floor(number) : NaN
  return isCount(whole) ? whole : NaN
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null

const plus = (one: number | undefined, other: number | undefined): number | undefined => (one === undefined ? other : one + (other ?? 0))

function sumOf(value: unknown): number | undefined {
  const counts = isObject(value) ? Object.values(value).flatMap((one) => count(one) ?? []) : []
  return counts.length === 0 ? undefined : counts.reduce((sum, one) => sum + one, 0)
}

function fieldsOf(usage: Fields, name: string): Fields {
  const fields = usage[name]
  return isObject(fields) ? Object.fromEntries(Object.entries(fields).filter(([, value]) => isSet(value))) : {}
}
