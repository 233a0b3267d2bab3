/**
 * Holds the vectors of one agent in memory and finds the nearest ones to a query. Each dimension takes two bytes, plus one bit for a fast
 * first pass over large sets. Vectors are added in batches and removed by document. This module knows no store and no threads.
 */

export type Nearest = { chunkId: number; score: number }

// Up to this number all vectors are compared completely, which takes a few milliseconds. Above it, the bits select which ones are compared.
const maxCompared = 8_192
// How many vectors the first pass selects. Recall@10 stays above 0.98 on sets of 20,000 and 100,000 (docs/decisions/0019-retrieval.md).
const minChosen = 2_000
const chosenShare = 0.04
const initialCapacity = 256

export class VectorSet {
  readonly dimensions: number
  #count = 0
  #chunkIds = new Float64Array(initialCapacity)
  #documents: string[] = []
  #scales = new Float32Array(initialCapacity)
  #values: Int16Array
  /**
   * For each dimension, whether the value is above the mean of all vectors. The mean is subtracted because vectors of one corpus are
   * similar.
   */
  #signs: Uint8Array
  #mean: Float32Array
  /** `#meanOf`: the number of vectors the mean was computed from. `#signed`: the number of vectors that have sign bits for that mean. */
  #meanOf = 0
  #signed = 0

  constructor(dimensions: number) {
    this.dimensions = dimensions
    this.#values = new Int16Array(initialCapacity * dimensions)
    this.#signs = new Uint8Array(initialCapacity * this.#signBytes)
    this.#mean = new Float32Array(dimensions)
  }

  get count(): number {
    return this.#count
  }

  /** `vectors` contains the vectors one after the other, each of unit length. */
  add(chunkIds: number[], documentIds: string[], vectors: Float32Array): void {
    this.#reserve(this.#count + chunkIds.length)
    const { dimensions } = this
    for (const [index, chunkId] of chunkIds.entries()) {
      const row = this.#count++
      const vector = vectors.subarray(index * dimensions, (index + 1) * dimensions)
      let largest = 0
      for (const value of vector) largest = Math.max(largest, Math.abs(value))
      const scale = largest / 32_767 || 1
      for (let d = 0; d < dimensions; d++) this.#values[row * dimensions + d] = Math.round(vector[d]! / scale)
      this.#chunkIds[row] = chunkId
      this.#documents[row] = documentIds[index]!
      this.#scales[row] = scale
    }
  }

  /** Removes all vectors of these documents. */
  drop(documentIds: ReadonlySet<string>): void {
    const { dimensions } = this
    let kept = 0
    let signed = 0
    for (let row = 0; row < this.#count; row++) {
      if (documentIds.has(this.#documents[row]!)) continue
      if (kept !== row) {
        this.#chunkIds[kept] = this.#chunkIds[row]!
        this.#documents[kept] = this.#documents[row]!
        this.#scales[kept] = this.#scales[row]!
        this.#values.copyWithin(kept * dimensions, row * dimensions, (row + 1) * dimensions)
        this.#signs.copyWithin(kept * this.#signBytes, row * this.#signBytes, (row + 1) * this.#signBytes)
      }
      kept++
      if (row < this.#signed) signed = kept
    }
    this.#documents.length = kept
    this.#signed = signed
    this.#count = kept
  }

  /** Returns the nearest vectors by cosine similarity, best first. `query` must have unit length. */
  nearest(query: Float32Array, limit: number): Nearest[] {
    const rows = this.#count <= maxCompared ? undefined : this.#choose(query)
    const best: Nearest[] = []
    const count = rows?.length ?? this.#count
    for (let index = 0; index < count; index++) {
      const row = rows ? rows[index]! : index
      const score = this.#compare(query, row)
      if (best.length === limit && score <= best[limit - 1]!.score) continue
      let at = best.length
      while (at > 0 && best[at - 1]!.score < score) at--
      best.splice(at, 0, { chunkId: this.#chunkIds[row]!, score })
      if (best.length > limit) best.pop()
    }
    return best
  }

  get #signBytes(): number {
    return Math.ceil(this.dimensions / 8)
  }

  #compare(query: Float32Array, row: number): number {
    const { dimensions } = this
    const values = this.#values
    const from = row * dimensions
    let [a, b, c, d] = [0, 0, 0, 0]
    let at = 0
    for (; at + 3 < dimensions; at += 4) {
      a += query[at]! * values[from + at]!
      b += query[at + 1]! * values[from + at + 1]!
      c += query[at + 2]! * values[from + at + 2]!
      d += query[at + 3]! * values[from + at + 3]!
    }
    for (; at < dimensions; at++) a += query[at]! * values[from + at]!
    return (a + b + c + d) * this.#scales[row]!
  }

  /** Returns the rows that are nearest by their sign bits. */
  #choose(query: Float32Array): Uint32Array {
    this.#sign()
    const signBytes = this.#signBytes
    const table = this.#tableOf(query)
    const scores = new Float32Array(this.#count)
    let [low, high] = [Infinity, -Infinity]
    for (let row = 0; row < this.#count; row++) {
      let score = 0
      const from = row * signBytes
      for (let at = 0; at < signBytes; at++) score += table[(at << 8) | this.#signs[from + at]!]!
      scores[row] = score
      if (score < low) low = score
      if (score > high) high = score
    }
    return highest(scores, { low, high, wanted: Math.max(minChosen, Math.ceil(this.#count * chosenShare)) })
  }

  /** Returns a table with the contribution of each byte of sign bits to the product with the query, for all 256 values of the byte. */
  #tableOf(query: Float32Array): Float32Array {
    const signBytes = this.#signBytes
    const table = new Float32Array(signBytes * 256)
    for (let at = 0; at < signBytes; at++)
      for (let value = 0; value < 256; value++) {
        let sum = 0
        for (let bit = 0; bit < 8; bit++) sum += (value >> bit) & 1 ? (query[at * 8 + bit] ?? 0) : -(query[at * 8 + bit] ?? 0)
        table[at * 256 + value] = sum
      }
    return table
  }

  /**
   * Computes missing sign bits. Recomputes the mean and all bits once there are more than twice as many vectors as the mean was computed
   * from.
   */
  #sign(): void {
    if (this.#count > 2 * this.#meanOf) {
      this.#takeMean()
      this.#signed = 0
    }
    const { dimensions } = this
    for (; this.#signed < this.#count; this.#signed++) {
      const row = this.#signed
      const scale = this.#scales[row]!
      this.#signs.fill(0, row * this.#signBytes, (row + 1) * this.#signBytes)
      for (let d = 0; d < dimensions; d++)
        if (this.#values[row * dimensions + d]! * scale > this.#mean[d]!) this.#signs[row * this.#signBytes + (d >> 3)]! |= 1 << (d & 7)
    }
  }

  #takeMean(): void {
    const { dimensions } = this
    const sums = new Float64Array(dimensions)
    for (let row = 0; row < this.#count; row++)
      for (let d = 0; d < dimensions; d++) sums[d]! += this.#values[row * dimensions + d]! * this.#scales[row]!
    this.#mean = Float32Array.from(sums, (sum) => sum / this.#count)
    this.#meanOf = this.#count
  }

  #reserve(rows: number): void {
    if (rows <= this.#chunkIds.length) return
    // Grows by a quarter rather than doubling, because a large set would then be half empty.
    const capacity = Math.max(rows, Math.ceil(this.#chunkIds.length * 1.25))
    const grown = <Kept extends Float64Array | Float32Array | Int16Array | Uint8Array>(made: Kept, from: Kept): Kept => {
      made.set(from)
      return made
    }
    this.#chunkIds = grown(new Float64Array(capacity), this.#chunkIds)
    this.#scales = grown(new Float32Array(capacity), this.#scales)
    this.#values = grown(new Int16Array(capacity * this.dimensions), this.#values)
    this.#signs = grown(new Uint8Array(capacity * this.#signBytes), this.#signs)
  }
}

/** Returns the memory that a vector takes, in bytes: values, sign bits, ids and scale. */
export const bytesOfVector = (dimensions: number): number => 2 * dimensions + Math.ceil(dimensions / 8) + 8 + 8 + 4

/** Returns the indexes of the `wanted` highest scores, or somewhat more. */
function highest(scores: Float32Array, { low, high, wanted }: { low: number; high: number; wanted: number }): Uint32Array {
  const bins = 4_096
  const counts = new Uint32Array(bins)
  const width = (high - low) / bins || 1
  const binOf = (score: number): number => Math.min(bins - 1, Math.floor((score - low) / width))
  for (const score of scores) counts[binOf(score)]!++
  let [bin, count] = [bins, 0]
  while (bin > 0 && count < wanted) count += counts[--bin]!
  const found = new Uint32Array(count)
  let at = 0
  for (let index = 0; index < scores.length; index++) if (binOf(scores[index]!) >= bin) found[at++] = index
  return found
}
