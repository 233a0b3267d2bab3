/**
 * Translates a regular expression (ECMAScript with the `u` flag, as JSON Schema defines its patterns) into the states of an automaton that
 * linear-pattern.ts runs. All patterns except those with backreferences or inline flags can be translated. The number of states is
 * limited, because each of them may be visited for each character of a text.
 */
import { createRequire } from 'node:module'
import type { AST } from '@eslint-community/regexpp'
import type * as Regexpp from '@eslint-community/regexpp'

/** Thrown for a pattern that is valid and cannot be used. The message says why. */
export class UnsupportedPattern extends Error {}
/** Thrown for a text that is not a regular expression. */
export class InvalidPattern extends Error {}

/** Whether a code point is one of a set. */
export type CharacterTest = (codePoint: number) => boolean
/** The tests of character classes by their text. The patterns of one schema share them. */
export type CharacterTests = Map<string, CharacterTest>
/** Whether a position, between two characters, fulfills an assertion such as `^` or a lookahead. */
export type PositionTest =
  | { kind: 'start' | 'end' | 'word' | 'not word' }
  /** Whether `program` matches from the position on (`backward`: it is run from the end), or up to the position. */
  | { kind: 'look'; program: Program; backward: boolean; negate: boolean }

/** `next` follows each state; `other` is the second way of a split, or the index of the test of the other two kinds. */
export type Program = { kinds: Uint8Array; next: Int32Array; other: Int32Array; start: number; tests: CharacterTest[]; at: PositionTest[] }
export const stateKind = { match: 0, split: 1, character: 2, position: 3 } as const

// Longer than any pattern for a field, and short enough that parsing it costs nothing.
const maxCharacters = 4096
// Of one pattern including its repetitions, which are written out: {1,100} of a letter has a hundred.
const maxStates = 10_000
// The test of a character class, such as [a-z] or \d, takes as long and as much memory as these many states. Patterns have a few different ones.
const classStates = 50

let parser: Regexpp.RegExpParser | undefined

/**
 * Returns the program, and the number of states that it counts. Adds its character classes to `tests`. Throws InvalidPattern or
 * UnsupportedPattern.
 */
export function programOf(pattern: string, tests: CharacterTests): { program: Program; states: number } {
  if (pattern.length > maxCharacters) throw new UnsupportedPattern(`it is longer than ${maxCharacters} characters`)
  // Loaded with the first pattern. Most agents have none.
  parser ??= new (createRequire(import.meta.url)('@eslint-community/regexpp') as typeof Regexpp).RegExpParser({ ecmaVersion: 2025 })
  try {
    const parsed = parser.parsePattern(pattern, 0, pattern.length, { unicode: true })
    const total = { states: 0, tests }
    const program = new Builder(false, total).build(parsed.alternatives)
    return { program, states: total.states }
  } catch (error) {
    if (error instanceof UnsupportedPattern) throw error
    // Of the parser or the builder, which call themselves for each nested group.
    if (error instanceof RangeError) throw new UnsupportedPattern('its groups are nested too deeply')
    if (error instanceof SyntaxError) throw new InvalidPattern(error.message)
    throw error
  }
}

type Total = { states: number; tests: CharacterTests }

/** Adds states from the last to the first, so that each one knows which follows it. */
class Builder {
  readonly #kinds: number[] = []
  readonly #next: number[] = []
  readonly #other: number[] = []
  readonly #tests: CharacterTest[] = []
  readonly #at: PositionTest[] = []
  readonly #known = new Map<string, number>()
  readonly #backward: boolean
  readonly #total: Total

  /** `backward`: the program reads a text from its end. `total` belongs to a pattern and its lookarounds. */
  constructor(backward: boolean, total: Total) {
    this.#backward = backward
    this.#total = total
  }

  build(alternatives: AST.Alternative[]): Program {
    const start = this.#alternatives(alternatives, this.#state(stateKind.match, -1, -1))
    const [kinds, next, other] = [Uint8Array.from(this.#kinds), Int32Array.from(this.#next), Int32Array.from(this.#other)]
    return { kinds, next, other, start, tests: this.#tests, at: this.#at }
  }

  #count(states: number): void {
    this.#total.states += states
    if (this.#total.states > maxStates)
      throw new UnsupportedPattern(
        `its repetitions and character classes make more than ${maxStates} states: use minLength and maxLength for the length of a text`,
      )
  }

  #state(kind: number, next: number, other: number): number {
    this.#count(1)
    this.#kinds.push(kind)
    this.#next.push(next)
    return this.#other.push(other) - 1
  }

  #alternatives(alternatives: AST.Alternative[], next: number): number {
    return alternatives
      .map(({ elements }) =>
        this.#backward
          ? elements.reduce((after, element) => this.#element(element, after), next)
          : elements.reduceRight((after, element) => this.#element(element, after), next),
      )
      .reduceRight((rest, one) => this.#state(stateKind.split, one, rest))
  }

  #element(element: AST.Element, next: number): number {
    switch (element.type) {
      case 'Group':
        if (element.modifiers) throw new UnsupportedPattern('it changes flags within the pattern')
        return this.#alternatives(element.alternatives, next)
      case 'CapturingGroup':
        return this.#alternatives(element.alternatives, next)
      case 'Quantifier':
        return this.#repeated(element, next)
      case 'Assertion':
        return this.#state(stateKind.position, next, this.#at.push(this.#position(element)) - 1)
      case 'Backreference':
        throw new UnsupportedPattern('it refers back to a group')
      default:
        return this.#state(stateKind.character, next, this.#test(element))
    }
  }

  #repeated({ element, min, max }: AST.Quantifier, next: number): number {
    let start = next
    if (max === Infinity) {
      start = this.#state(stateKind.split, next, next)
      this.#next[start] = this.#element(element, start)
    } else for (let more = min; more < max; more++) start = this.#state(stateKind.split, this.#element(element, start), next)
    for (let times = 0; times < min; times++) {
      const before = this.#element(element, start)
      // An empty group has no states, so nothing would end a repetition of four billion.
      if (before === start) break
      start = before
    }
    return start
  }

  #position(assertion: AST.Assertion): PositionTest {
    switch (assertion.kind) {
      case 'word':
        return { kind: assertion.negate ? 'not word' : 'word' }
      case 'lookahead':
      case 'lookbehind': {
        const backward = assertion.kind === 'lookahead'
        const program = new Builder(backward, this.#total).build(assertion.alternatives)
        return { kind: 'look', program, backward, negate: assertion.negate }
      }
      default:
        return { kind: assertion.kind }
    }
  }

  /** Returns the index of the test of this one character. */
  #test(element: AST.Element): number {
    const { raw } = element
    const known = this.#known.get(raw)
    if (known !== undefined) return known
    this.#known.set(raw, this.#tests.push(element.type === 'Character' ? equals(element.value) : this.#class(raw)) - 1)
    return this.#tests.length - 1
  }

  #class(raw: string): CharacterTest {
    const known = this.#total.tests.get(raw)
    if (known) return known
    this.#count(classStates)
    const test = characterTest(raw)
    this.#total.tests.set(raw, test)
    return test
  }
}

const equals =
  (expected: number): CharacterTest =>
  (codePoint) =>
    codePoint === expected

/** `raw` stands for exactly one character. Node's own engine cannot backtrack in it, and knows Unicode's properties. */
function characterTest(raw: string): CharacterTest {
  const one = new RegExp(`^${raw}$`, 'u')
  const ascii = Array.from({ length: 128 }, (_, code) => one.test(String.fromCharCode(code)))
  return (codePoint) => (codePoint < 128 ? ascii[codePoint]! : one.test(String.fromCodePoint(codePoint)))
}
