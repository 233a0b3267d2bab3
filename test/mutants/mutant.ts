/**
 * A planted fault as data: what is changed in a copy of the source, and the test that must notice it. Owns the change and whether it still
 * fits the source; never runs anything.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Mutant = {
  /** The rule of docs/rules.md whose enforcement is taken away; it stands in the title of the test that notices. */
  rule: string
  /** What holds no more, as a short phrase without a full stop. */
  removes: string
  edits: Edit[]
  /** A test file below test/ and a part of the title of the one test, or the few, that must go red. */
  caughtBy: { file: string; title: string }
  /** How the test notices: by an assertion unless said otherwise; `throws` where the code under it throws; `hang` where what it waits for never comes. */
  symptom?: Symptom
}

export type Symptom = 'assertion' | 'throws' | 'hang'

/** `find` stands exactly once in the file, or the mutant is stale. */
export type Edit = { file: string; find: string; replace: string }

/** Short hand for data: one change in one file. */
export const edit = (file: string, find: string, replace = ''): Edit => ({ file, find, replace })

/** What is wrong with the mutant's edits against this tree; undefined where each fits exactly once. */
export function staleness(mutant: Pick<Mutant, 'edits'>, tree: string): string | undefined {
  for (const { file, find } of mutant.edits) {
    const count = read(tree, file).split(find).length - 1
    if (count !== 1) return `its text stands ${count} times in ${file}: ${find.trim().split('\n')[0]}`
  }
  return undefined
}

/** The mutant's edited files, each with its content after the edits; `read` returns the content before. */
export function editedFiles({ edits }: Pick<Mutant, 'edits'>, read: (file: string) => string): Map<string, string> {
  const texts = new Map<string, string>()
  for (const { file, find, replace } of edits) {
    const before = texts.get(file) ?? read(file)
    texts.set(
      file,
      before.replace(find, () => replace),
    )
  }
  return texts
}

/** Plants the fault into the tree; returns a function that takes it out again. */
export function plant(mutant: Pick<Mutant, 'edits'>, tree: string): () => void {
  const after = editedFiles(mutant, (file) => read(tree, file))
  const before = [...after.keys()].map((file) => [file, read(tree, file)] as const)
  for (const [file, text] of after) writeFileSync(join(tree, file), text)
  return () => {
    for (const [file, text] of before) writeFileSync(join(tree, file), text)
  }
}

const read = (tree: string, file: string): string => readFileSync(join(tree, file), 'utf8')
