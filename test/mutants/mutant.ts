/**
 * A mutant as data: the change to plant into a copy of the source, and the test that must notice it. Applies the change and checks whether
 * it still fits the source; never runs anything.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Mutant = {
  /** The rule of docs/rules.md whose enforcement the mutant removes. The title of the test that notices it contains the name. */
  rule: string
  /** What is no longer guaranteed, as a short phrase without a full stop. */
  removes: string
  edits: Edit[]
  /** A test file below test/, and a part of the title of the one or few tests that must fail. */
  caughtBy: { file: string; title: string }
  /**
   * How the test notices: by an assertion unless set otherwise; `throws` if the code under it throws; `hang` if what it waits for never
   * happens.
   */
  symptom?: Symptom
}

export type Symptom = 'assertion' | 'throws' | 'hang'

/** `find` occurs exactly once in the file; otherwise the mutant is stale. */
export type Edit = { file: string; find: string; replace: string }

/** Shorthand for one change in one file. */
export const edit = (file: string, find: string, replace = ''): Edit => ({ file, find, replace })

/** Returns why the mutant's edits do not fit this tree, or undefined if each of them fits exactly once. */
export function staleness(mutant: Pick<Mutant, 'edits'>, tree: string): string | undefined {
  for (const { file, find } of mutant.edits) {
    const count = read(tree, file).split(find).length - 1
    if (count !== 1) return `its text stands ${count} times in ${file}: ${find.trim().split('\n')[0]}`
  }
  return undefined
}

/** Returns the content of the mutant's files after the edits; `read` returns their content before. */
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

/** Plants the mutant into the tree. Returns a function that removes it. */
export function plant(mutant: Pick<Mutant, 'edits'>, tree: string): () => void {
  const after = editedFiles(mutant, (file) => read(tree, file))
  const before = [...after.keys()].map((file) => [file, read(tree, file)] as const)
  for (const [file, text] of after) writeFileSync(join(tree, file), text)
  return () => {
    for (const [file, text] of before) writeFileSync(join(tree, file), text)
  }
}

const read = (tree: string, file: string): string => readFileSync(join(tree, file), 'utf8')
