/**
 * Counts the pictures of a PDF without decoding any: each is a stream, whose description is legible in the file however the rest of it is
 * compressed. The scan of a page does not count: its text is read, or the page counts as one without text.
 */
import { Buffer } from 'node:buffer'

type Size = { width: number; height: number }

// In pixels. A smaller one is a line, a bullet or a logo.
const smallest = 64
// Of the ratio of width to height. A photograph on a sheet of A4 has 1.33 or 1.5, and the sheet has 1.41.
const sameRatio = 0.03
// In bytes. The description of an image has a few hundred.
const maxDescription = 2_000
// A file could name millions that it does not have.
const maxNamed = 10_000

/** `size`: undefined if the file says it elsewhere. `masksOf`: the images that are only the transparency of this one. */
export type PdfImage = { id: string; size: Size | undefined; masksOf: string[] }

/** `pages`: their sizes, in any unit and orientation. */
export function countPictures(images: PdfImage[], pages: Size[]): number {
  const masks = new Set(images.flatMap(({ masksOf }) => masksOf))
  const shown = images.filter(({ id, size }) => !masks.has(id) && (!size || Math.min(size.width, size.height) >= smallest))
  const isScan = (size: Size): boolean => pages.some((page) => Math.abs(ratioOf(page) / ratioOf(size) - 1) < sameRatio)
  const scans = shown.filter(({ size }) => size && isScan(size)).length
  return shown.length - Math.min(scans, pages.length)
}

const ratioOf = ({ width, height }: Size): number => Math.max(width, height) / Math.min(width, height)

/** The images of a file, without stencils, which are drawn in one color. */
export function imagesIn(file: Uint8Array): PdfImage[] {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength)
  const textAt = (from: number, to: number): string => bytes.toString('latin1', Math.max(0, from), to)
  const images: PdfImage[] = []
  for (let at = bytes.indexOf('/Image'), named = 0; at !== -1 && named < maxNamed; at = bytes.indexOf('/Image', at + 1), named++) {
    const before = textAt(at - maxDescription, at)
    const after = textAt(at, at + maxDescription)
    if (!/\/Subtype\s*$/.test(before) || /^\/Image\w/.test(after)) continue
    const start = [...before.matchAll(/(?<!\d)(\d{1,10})\s+\d{1,5}\s+obj\b/g)].at(-1)
    const end = after.indexOf('stream')
    if (!start || end === -1) continue
    const description = before.slice(start.index + start[0].length) + after.slice(0, end)
    if (/\/ImageMask\s+true/.test(description)) continue
    const [width = 0, height = 0] = ['Width', 'Height'].map((name) =>
      Number(new RegExp(`/${name}\\s+(\\d+)(?!\\s+\\d+\\s+R)`).exec(description)?.[1]),
    )
    const masksOf = [...description.matchAll(/\/S?Mask\s+(\d+)\s+\d+\s+R/g)].map(([, id]) => id!)
    images.push({ id: start[1]!, size: width > 0 && height > 0 ? { width, height } : undefined, masksOf })
  }
  return images
}
