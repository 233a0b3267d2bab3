/**
 * Tests texts against regular expressions in linear time (`tools.arguments`): at each character, all states that the automaton can be in
 * are visited once. There is no backtracking, so the number of operations is at most the number of characters times the number of states,
 * whatever the pattern and the text. The answer is that of `RegExp.test` with the `u` flag.
 */
import { programOf, stateKind } from './pattern-program.ts'
import type { CharacterTests, PositionTest, Program } from './pattern-program.ts'
import type { Operations } from './operations.ts'

export { InvalidPattern, UnsupportedPattern } from './pattern-program.ts'
export type { CharacterTests } from './pattern-program.ts'

export type Pattern = {
  /** Whether the text contains a match. Throws OperationsSpent. */
  test(text: string, operations: Operations): boolean
  /** How many states it has, with those of its lookarounds, and what its character classes count in addition. */
  states: number
}

/** `tests` are the character classes of earlier patterns, which cost nothing here. Throws InvalidPattern or UnsupportedPattern. */
export function linearPattern(source: string, tests: CharacterTests = new Map()): Pattern {
  const { program, states } = programOf(source, tests)
  return {
    // mutant: tools.arguments-2
    states,
    test: (text, operations) => {
      const characters = Array.from(text, (character) => character.codePointAt(0)!)
      operations.spend(characters.length + program.kinds.length / 64)
      return new Run(program, characters, operations).matches()
    },
  }
}

class Run {
  readonly #program: Program
  readonly #characters: number[]
  readonly #operations: Operations
  /** The position at which each state was last visited, plus one. */
  readonly #visited: Uint32Array
  readonly #looked = new Map<PositionTest, Uint8Array>()
  #waiting: number[] = []

  constructor(program: Program, characters: number[], operations: Operations) {
    this.#program = program
    this.#characters = characters
    this.#operations = operations
    this.#visited = new Uint32Array(program.kinds.length)
  }

  matches(): boolean {
    for (let position = 0; position <= this.#characters.length; position++) if (this.#advance(position, position - 1)) return true
    return false
  }

  /** For each position, whether a match ends there; `backward`: whether one that is read from the end does. */
  ends(backward: boolean): Uint8Array {
    const length = this.#characters.length
    const found = new Uint8Array(length + 1)
    for (let count = 0; count <= length; count++) {
      const position = backward ? length - count : count
      if (this.#advance(position, backward ? position : position - 1)) found[position] = 1
    }
    return found
  }

  /** Reads the character at index `read` into all states that wait for one, starts a match at `position`, and returns whether one ends. */
  #advance(position: number, read: number): boolean {
    const { kinds, next, other, tests, start } = this.#program
    const character = this.#characters[read]
    const open = [start]
    for (const state of this.#waiting) if (tests[other[state]!]!(character!)) open.push(next[state]!)
    this.#operations.spend(this.#waiting.length + 1)
    this.#waiting = []
    let matched = false
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      if (this.#visited[state] === position + 1) continue
      this.#visited[state] = position + 1
      this.#operations.spend(1)
      const kind = kinds[state]
      if (kind === stateKind.match) matched = true
      else if (kind === stateKind.character) this.#waiting.push(state)
      else if (kind === stateKind.split) open.push(other[state]!, next[state]!)
      else if (this.#holds(this.#program.at[other[state]!]!, position)) open.push(next[state]!)
    }
    return matched
  }

  #holds(test: PositionTest, position: number): boolean {
    switch (test.kind) {
      case 'start':
        return position === 0
      case 'end':
        return position === this.#characters.length
      case 'look':
        return (this.#look(test)[position] === 1) !== test.negate
      default:
        return (isWord(this.#characters[position - 1]) !== isWord(this.#characters[position])) === (test.kind === 'word')
    }
  }

  /** For all positions in one pass, so that a lookaround does not scan the text again at each of them. */
  #look(test: Extract<PositionTest, { kind: 'look' }>): Uint8Array {
    const known = this.#looked.get(test)
    if (known) return known
    const found = new Run(test.program, this.#characters, this.#operations).ends(test.backward)
    this.#looked.set(test, found)
    return found
  }
}

const isWord = (codePoint: number | undefined): boolean => codePoint !== undefined && /\w/.test(String.fromCodePoint(codePoint))
