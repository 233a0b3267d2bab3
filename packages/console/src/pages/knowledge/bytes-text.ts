/** A size as people read it: 812 B, 3.4 KiB, 12 MiB. */
export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  const [size, unit] = bytes < 1024 * 1024 ? [bytes / 1024, 'KiB'] : [bytes / (1024 * 1024), 'MiB']
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${unit}`
}
