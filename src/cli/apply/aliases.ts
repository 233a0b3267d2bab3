/**
 * Resolves the aliases of a YAML file, within bounds: a few lines of aliases can stand for billions of values. Each use of an alias counts,
 * and everything that it contains counts again.
 */
import { isAlias, visit } from 'yaml'
import type { Alias, Document, Node } from 'yaml'

/** The file, or one value of it, is larger than a declaration can be. The message completes a problem. */
export class TooMuch extends Error {}

const maxUses = 10_000
const maxValues = 200_000

export class Aliases {
  readonly #document: Document.Parsed
  #targets: Map<Alias, Node> | undefined
  #uses = 0
  #values = 0

  constructor(document: Document.Parsed) {
    this.#document = document
  }

  /** How many times an alias has been resolved. */
  get uses(): number {
    return this.#uses
  }

  /** Returns the node itself, or what the alias refers to: null if nothing. Throws TooMuch. */
  resolve(node: Node | null): Node | null {
    if (++this.#values > maxValues)
      throw new TooMuch(`the file has more than ${maxValues.toLocaleString('en-US')} values, counting those of an alias for each use`)
    if (!isAlias(node)) return node
    if (++this.#uses > maxUses)
      throw new TooMuch(`the file uses aliases more than ${maxUses.toLocaleString('en-US')} times, counting aliases in aliases`)
    this.#targets ??= targetsOf(this.#document)
    return this.#targets.get(node) ?? null
  }
}

/** Resolves all aliases in one pass over the document. An alias refers to the last anchor of its name before it. */
function targetsOf(document: Document.Parsed): Map<Alias, Node> {
  const anchors = new Map<string, Node>()
  const targets = new Map<Alias, Node>()
  visit(document, {
    Node(_, node) {
      if (isAlias(node)) {
        const target = anchors.get(node.source)
        if (target) targets.set(node, target)
      } else if (node.anchor) anchors.set(node.anchor, node)
    },
  })
  return targets
}
