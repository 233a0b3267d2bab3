/**
 * What a document may cost to be read, and how its reader says no. A document is somebody else's file: every limit holds while it is read, not by
 * what the file says of itself.
 */

// Of a file as it is sent and of an answer from an address: a book with pictures, and little enough to hold twice in memory.
export const maxFileBytes = 20 * 1024 * 1024

// The longest manuals; at 4 ms a page a reader is done well before its time.
export const maxPages = 2_000

// Of the reading thread's own computing, so that a busy machine refuses nothing. The longest documents that pass the other limits take a third of it.
export const maxReadMs = 60_000

// The XML of a DOCX file of 5,000 pages. Twenty megabytes can be made to inflate to twenty gigabytes.
export const maxInflatedBytes = 64 * 1024 * 1024

// Twice the whole of Shakespeare; some 10,000 chunks, which is what a search over one agent's documents stays quick with.
export const maxTextBytes = 10 * 1024 * 1024

// A text of 10 MiB has half as many; only a heap of headings and short pages has more.
export const maxChunks = 20_000

// Of JavaScript objects: a page of HTML is fifteen times its size as a tree. Beyond it V8 ends the thread, or the process that reads.
export const maxHeapMegabytes = 384

// Of bytes outside that heap, where V8 does not count: a PDF of 1.5 MB was seen to inflate its pages to 3,400 MB there.
export const maxOutsideBytes = 256 * 1024 * 1024

/** The document cannot be indexed as it is; the message is for the operator: whole sentences, the cause and, where there is one, the way out. */
export class DocumentRefused extends Error {}

/** `20 MiB` of a number of bytes. */
export const inMebibytes = (bytes: number): string => `${bytes / 1024 / 1024} MiB`

/** The two limits of `reading-process.ts`, which ends a reader that goes beyond them. */
export const needsTooLong = (limitMs: number): DocumentRefused =>
  new DocumentRefused(`Reading this document took more than ${limitMs / 1000} seconds of CPU time. Split it into smaller documents.`)
export const needsTooMuch = (): DocumentRefused =>
  new DocumentRefused(
    `Reading this document needs too much memory (more than ${maxHeapMegabytes} MB, or ${inMebibytes(maxOutsideBytes)} of decompressed data). Split it into smaller documents.`,
  )
