/**
 * The limits for reading documents, and the error for a document that exceeds them. Documents are untrusted: each limit is enforced while
 * reading, and does not rely on the sizes that the file declares.
 */

// For an uploaded file and for a download. Enough for a book with pictures, and small enough to hold twice in memory.
export const maxFileBytes = 20 * 1024 * 1024

// The longest manuals. At 4 ms per page they take far less than the time limit.
export const maxPages = 2_000

// CPU time of the reading thread, so that a busy machine refuses no document. The longest documents within the other limits take a third of
// it.
export const maxReadMs = 60_000

// `knowledge.bounded`: a small file may not take as long as a large one. A page of nothing but tags takes half of this; a PDF or DOCX file is
// compressed, so that a small one has time as well.
const baseReadMs = 10_000
const readMsPerMebibyte = 10_000

/** Returns the CPU time in milliseconds in which a file of this size must be read. */
export const readMsOf = (bytes: number): number => Math.min(maxReadMs, baseReadMs + Math.ceil((bytes / 1024 / 1024) * readMsPerMebibyte))

// The XML of a DOCX file with 5,000 pages. A file of 20 MB can be built to decompress to 20 GB.
export const maxInflatedBytes = 64 * 1024 * 1024

// Twice the complete works of Shakespeare, or about 10,000 chunks, up to which a search over one agent's documents stays fast.
export const maxTextBytes = 10 * 1024 * 1024

// In characters, as the admin API allows. The title is part of every passage and of every citation.
export const maxTitle = 500

// A text of 10 MiB has half as many. Only a document that consists mostly of headings and short pages has more.
export const maxChunks = 20_000

// For JavaScript objects: the tree of an HTML page is 15 times the size of the page. Beyond it V8 ends the thread or the whole reading
// process.
export const maxHeapMegabytes = 384

// For memory outside the V8 heap, which the heap limit does not cover: a PDF of 1.5 MB was seen to expand to 3,400 MB there.
export const maxOutsideBytes = 256 * 1024 * 1024

/**
 * The document cannot be indexed as it is. The message is for the operator: complete sentences with the cause and, if possible, the fix. It
 * may contain the words of a provider, which may repeat the document. `logged` is what the log contains in its place.
 */
export class DocumentRefused extends Error {
  readonly logged: { reason?: string; cause_kind?: string; cause?: string }

  constructor(message: string, { logged, ...options }: ErrorOptions & { logged?: { cause_kind: string; cause: string } } = {}) {
    super(message, options)
    this.logged = logged ?? { reason: message }
  }
}

/** Formats a number of bytes, such as `20 MiB`. */
export const inMebibytes = (bytes: number): string => `${bytes / 1024 / 1024} MiB`

/** Errors for the two limits that `reading-process.ts` enforces by ending the process. */
export const needsTooLong = (limitMs: number): DocumentRefused =>
  new DocumentRefused(
    `Reading this document took more than ${limitMs / 1000} seconds of CPU time, the limit for its size. Split it into smaller documents, or send its text.`,
  )
export const needsTooMuch = (): DocumentRefused =>
  new DocumentRefused(
    `Reading this document needs too much memory (more than ${maxHeapMegabytes} MB, or ${inMebibytes(maxOutsideBytes)} of decompressed data). Split it into smaller documents.`,
  )
