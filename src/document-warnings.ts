/**
 * What a reader found in a document and did not read. A document with warnings is ready: its other text is found. Each kind has its sentence
 * for the operator here. The reading process and the store have the kinds and the counts alone, so that a document cannot choose the words.
 */

const sentences = {
  pictures: { one: 'picture was not read.', other: 'pictures were not read.', fix: 'Write what they show as text.' },
  equations: {
    one: 'equation was read as a line of text.',
    other: 'equations were read as lines of text.',
    fix: 'Check them in the passages.',
  },
  old_equations: { one: 'equation was not read.', other: 'equations were not read.', fix: 'Convert them to the current format in Word.' },
  charts: { one: 'chart was not read.', other: 'charts were not read.', fix: 'Add their figures as a table.' },
  diagrams: { one: 'diagram was not read.', other: 'diagrams were not read.', fix: 'Write what they show as text.' },
  comments: { one: 'comment was left out.', other: 'comments were left out.', fix: 'Move what an agent should know into the text.' },
  embedded_files: {
    one: 'embedded file or frame was not read.',
    other: 'embedded files or frames were not read.',
    fix: 'Add them as documents.',
  },
  pages_without_text: {
    one: 'page contains no text.',
    other: 'pages contain no text.',
    fix: 'If they are scanned, run text recognition (OCR) on the file.',
  },
  unknown_characters: {
    one: 'character could not be read.',
    other: 'characters could not be read.',
    fix: 'The file does not say which letters its fonts show. Run text recognition (OCR) on it, or add the text.',
  },
  scripts: {
    one: '',
    other: '',
    fix: 'This page loads more text with a script, which was not run. Save the page in a browser as HTML or PDF.',
  },
  encoding: { one: '', other: '', fix: 'The encoding of this file was guessed. If letters are wrong in the passages, save it as UTF-8.' },
} as const

export type WarningKind = keyof typeof sentences
/** `count`: how many, or null where a number says nothing. */
export type DocumentWarning = { kind: WarningKind; count: number | null }

export const warningKinds = Object.keys(sentences) as WarningKind[]

/** For the operator: what was not read, and what helps. */
export function warningMessage({ kind, count }: DocumentWarning): string {
  const { one, other, fix } = sentences[kind]
  return count === null ? fix : `${count} ${count === 1 ? one : other} ${fix}`
}

/** Returns the warnings that a store or another process has, without what this version does not know. */
export function readWarnings(values: unknown): DocumentWarning[] {
  if (!Array.isArray(values)) return []
  return warningKinds.flatMap((kind) => {
    const found: unknown = values.find((value: unknown) => isObject(value) && value['kind'] === kind)
    if (!isObject(found)) return []
    const { count } = found
    return [{ kind, count: typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : null }]
  })
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
