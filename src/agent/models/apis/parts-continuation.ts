/**
 * What a hosted provider wants back of an answer between two rounds of tools: its parts in their order, each with what the package marked it with:
 * OpenAI's sealed reasoning, Anthropic's thinking and signatures, Gemini's thought signatures. Written and read here alone, as JSON.
 */
import type { JSONObject, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import { maxContinuation } from '../model.ts'
import { isObject } from '../transport/fields.ts'

/** The text of a `text` is the step's own, of which it takes so many characters; a `call` stands for the step's next tool call. */
export type KeptPart =
  | { kind: 'reasoning'; text: string; marks: JSONObject }
  | { kind: 'text'; characters: number; marks: JSONObject }
  | { kind: 'call'; marks: JSONObject }

// What names a thing in the provider's own store, where nothing of ours is kept, or repeats the answer.
const unwanted = ['itemId', 'annotations', 'citations']

export class PartsContinuation {
  readonly #of: string
  readonly #parts: KeptPart[] = []
  readonly #open = new Map<string, KeptPart & { kind: 'reasoning' | 'text' }>()
  #reasoningSize = 0

  /** `of` is the provider's name in the package's marks. */
  constructor(of: string) {
    this.#of = of
  }

  /** A part of text or reasoning begins, goes on or ends; `id` is the package's. */
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

  /** A tool call begins; answers where its marks are to be put. */
  call(): (metadata: SharedV4ProviderMetadata | undefined) => void {
    const part: KeptPart = { kind: 'call', marks: {} }
    this.#parts.push(part)
    return (metadata) => this.#mark(part, metadata)
  }

  /** Undefined where nothing is marked, and where it is too large: half a thought is refused where a missing one is not. */
  step(): unknown {
    const parts = this.#parts.flatMap((part): KeptPart[] => {
      // reasoning that is not marked is for a reader, not for the provider
      if (part.kind === 'reasoning') return holdsMarks(part) ? [part] : []
      const marks = Object.fromEntries(Object.entries(part.marks).filter(([name]) => !unwanted.includes(name)))
      return part.kind === 'text' && part.characters === 0 && !holdsMarks({ marks }) ? [] : [{ ...part, marks }]
    })
    if (this.#reasoningSize > maxContinuation || !parts.some(holdsMarks)) return undefined
    const continuation = { of: this.#of, parts }
    return JSON.stringify(continuation).length > maxContinuation ? undefined : continuation
  }

  #begin(kind: 'reasoning' | 'text', id: string): KeptPart & { kind: 'reasoning' | 'text' } {
    const part = kind === 'text' ? { kind, characters: 0, marks: {} } : { kind, text: '', marks: {} }
    this.#parts.push(part)
    this.#open.set(kind + id, part)
    return part
  }

  #fits(size: number): boolean {
    this.#reasoningSize += size
    return this.#reasoningSize <= maxContinuation
  }

  /** Later marks add to earlier ones; one that is null says nothing, since a seal may come at the end alone. */
  #mark(part: KeptPart, metadata: SharedV4ProviderMetadata | undefined): void {
    for (const [name, value] of Object.entries(metadata?.[this.#of] ?? {}))
      if (value !== null && value !== undefined) part.marks[name] = value
  }
}

const holdsMarks = ({ marks }: { marks: JSONObject }): boolean => Object.keys(marks).length > 0

/** Undefined for what another provider wrote, and where the parts do not hold as many calls as the message does. */
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
