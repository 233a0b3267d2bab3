/** The supported kinds of files, and how a kind is determined: by the file name, or else by the content type. Pure. */

const kinds: { mediaType: string; endings: string[]; also?: string[] }[] = [
  { mediaType: 'text/markdown', endings: ['md', 'markdown'], also: ['text/x-markdown'] },
  { mediaType: 'text/plain', endings: ['txt', 'text'] },
  { mediaType: 'text/html', endings: ['html', 'htm'], also: ['application/xhtml+xml'] },
  { mediaType: 'application/pdf', endings: ['pdf'] },
  { mediaType: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', endings: ['docx'] },
]

/** As shown to a person. */
export const takenKinds = kinds.map(({ endings }) => endings[0]).join(', ')

/** The name has priority, because most clients send every file as application/octet-stream. Undefined for a kind that is not supported. */
export function mediaTypeOf(fileName: string, contentType: string): string | undefined {
  const ending = /\.(\w+)$/.exec(fileName)?.[1]?.toLowerCase()
  const byName = kinds.find(({ endings }) => endings.some((known) => known === ending))
  if (byName) return byName.mediaType
  const essence = contentType.split(';', 1)[0]!.trim().toLowerCase()
  return kinds.find(({ mediaType, also = [] }) => mediaType === essence || also.includes(essence))?.mediaType
}
