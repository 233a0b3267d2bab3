/**
 * Keeps what a hosted provider needs back with the next step: the parts of the answer in their order, each with the package's metadata.
 * This covers OpenAI's encrypted reasoning, Anthropic's thinking and signatures, and Gemini's thought signatures. Only this module writes
 * and reads the JSON.
 */
import type { JSONObject, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import { maxAnswerParts, tooManyParts } from '../answer-limit.ts'
import { maxContinuation } from '../model.ts'
import { isObject, jsonOf } from '../transport/fields.ts'

/** A `text` part covers the next `characters` characters of the step's text; a `call` part stands for the step's next tool call. */
export type KeptPart =
  | { kind: 'reasoning'; text: string; marks: JSONObject }
  | { kind: 'text'; characters: number; marks: JSONObject }
  | { kind: 'call'; marks: JSONObject }

// Ids of objects in the provider's own storage, which Turnkeep does not use, and metadata that repeats the answer. Reasoning keeps its id.
const unwanted = ['itemId', 'annotations', 'citations']

export class PartsContinuation {
  readonly #of: string
  readonly #parts: KeptPart[] = []
  readonly #open = new Map<string, KeptPart & { kind: 'reasoning' | 'text' }>()
  /** Characters of reasoning and of metadata. Above the limit, neither is kept. */
  #size = 0

  /** `of` is the provider's name in the package's metadata. */
  constructor(of: string) {
    this.#of = of
  }

  /** Starts or extends a part of text or reasoning. `id` is the package's id for the part. Throws ModelError for too many parts. */
  read(kind: 'reasoning' | 'text', id: string, delta: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const part = this.#open.get(kind + id) ?? this.#begin(kind, id)
    if (part.kind === 'text') part.characters += delta.length
    else if (this.#fits(delta.length)) part.text += delta
    this.#mark(part, metadata)
  }

  end(kind: 'reasoning' | 'text', id: string, metadata: SharedV4ProviderMetadata | undefined): void {
    this.read(kind, id, '', metadata)
    this.#open.delete(kind + id)
  }

  /** Adds a tool call, and returns a function that adds metadata to it. */
  call(): (metadata: SharedV4ProviderMetadata | undefined) => void {
    const part: KeptPart = { kind: 'call', marks: {} }
    this.#add(part)
    return (metadata) => this.#mark(part, metadata)
  }

  /** Returns undefined if no part has metadata, or if it is too large: providers accept missing reasoning, but reject a part of it. */
  step(): unknown {
    const parts = this.#parts.flatMap((part): KeptPart[] => {
      // Reasoning without metadata is meant for readers; the provider does not need it back.
      if (part.kind === 'reasoning') return holdsMarks(part) ? [part] : []
      return part.kind === 'text' && part.characters === 0 && !holdsMarks(part) ? [] : [part]
    })
    if (this.#size > maxContinuation || !parts.some(holdsMarks)) return undefined
    const continuation = { of: this.#of, parts }
    return JSON.stringify(continuation).length > maxContinuation ? undefined : continuation
  }

  #begin(kind: 'reasoning' | 'text', id: string): KeptPart & { kind: 'reasoning' | 'text' } {
    const part = kind === 'text' ? { kind, characters: 0, marks: {} } : { kind, text: '', marks: {} }
    this.#add(part)
    this.#open.set(kind + id, part)
    return part
  }

  #add(part: KeptPart): void {
    if (this.#parts.length === maxAnswerParts) throw tooManyParts()
    this.#parts.push(part)
  }

  #fits(size: number): boolean {
    this.#size += size
    return this.#size <= maxContinuation
  }

  /** Merges metadata into earlier metadata. Null values are ignored, because a signature may arrive only at the end. */
  #mark(part: KeptPart, metadata: SharedV4ProviderMetadata | undefined): void {
    for (const [name, value] of Object.entries(metadata?.[this.#of] ?? {})) {
      if (value === null || value === undefined || (part.kind !== 'reasoning' && unwanted.includes(name))) continue
      const before = name in part.marks ? sizeOf(part.marks[name]) : 0
      if (this.#fits(sizeOf(value) - before)) part.marks[name] = value
    }
  }
}

const sizeOf = (value: unknown): number => jsonOf(value)?.length ?? Infinity

const holdsMarks = ({ marks }: { marks: JSONObject }): boolean => Object.keys(marks).length > 0

/** Returns undefined if another provider wrote the continuation, or if its number of calls differs from that of the message. */
export function readPartsContinuation(continuation: unknown, of: string, calls: number): KeptPart[] | undefined {
  if (!isObject(continuation) || continuation.of !== of || !Array.isArray(continuation.parts)) return undefined
  const parts: unknown[] = continuation.parts
  if (!parts.every(isKeptPart)) return undefined
  return parts.filter(({ kind }) => kind === 'call').length === calls ? parts : undefined
}

function isKeptPart(part: unknown): part is KeptPart {
  if (!isObject(part) || !isObject(part.marks)) return false
  if (part.kind === 'reasoning') return typeof part.text === 'string'
  return part.kind === 'call' || (part.kind === 'text' && Number.isSafeInteger(part.characters))
}
