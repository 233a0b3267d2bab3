/** Saves a file that the page has read, under this name. */
export function saveFile(file: Blob, name: string): void {
  const address = URL.createObjectURL(file)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The browser has read the file when the click has been handled.
  setTimeout(() => URL.revokeObjectURL(address), 1_000)
}

/** The text as a part of a file name: `Acme Ltd` is `acme-ltd`. Empty if it has no letter and no digit. */
export const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60)
