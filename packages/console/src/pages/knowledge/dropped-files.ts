/** The files of a drop or of a chosen folder. Of folders, only the files that can be read, without hidden ones. */

/** The supported file types for a file picker. */
export const takenFiles = '.md,.markdown,.txt,.text,.html,.htm,.pdf,.docx'

const endings = takenFiles.split(',')

export type Gathered = { files: File[]; /** Left out, because their kind is not supported. */ skipped: number }

/** `files`: those of a chosen folder. */
export function gather(files: readonly File[]): Gathered {
  const taken = files.filter(({ name }) => !name.startsWith('.') && endings.some((ending) => name.toLowerCase().endsWith(ending)))
  return { files: taken, skipped: files.length - taken.length }
}

/** Reads dropped folders with everything in them. A file that was dropped itself is kept whatever its kind, so that its refusal is shown. */
export async function droppedFiles(transfer: DataTransfer): Promise<Gathered> {
  // The items are only available until the handler of the event returns.
  const items = [...transfer.items].filter(({ kind }) => kind === 'file')
  const dropped = items.map((item) => ({ file: item.getAsFile(), entry: item.webkitGetAsEntry() }))
  const gathered: Gathered = { files: [], skipped: 0 }
  for (const { file, entry } of dropped)
    if (entry?.isDirectory) {
      const inside = gather(await filesIn(entry))
      gathered.files.push(...inside.files)
      gathered.skipped += inside.skipped
    } else if (file) gathered.files.push(file)
  return gathered
}

async function filesIn(entry: FileSystemEntry): Promise<File[]> {
  if (entry.isFile) return [await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))]
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  const found: File[] = []
  for (;;) {
    // A browser returns up to 100 entries at a time, and none at the end.
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (entries.length === 0) return found
    for (const inside of entries) found.push(...(await filesIn(inside)))
  }
}
