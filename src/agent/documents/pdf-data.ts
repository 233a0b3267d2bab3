/**
 * The data of Adobe's character maps, which say what the codes of Chinese, Japanese and Korean fonts mean that a PDF does not embed. They are
 * those of pdf.js, in `character-maps/`, and are read when a PDF needs one.
 */
import { readFile } from 'node:fs/promises'

const folder = new URL('character-maps/', import.meta.url)

/** What the PDF reader asks for its data. It opens no address: the name of a map comes from the document. */
export class CharacterMaps {
  async fetch({ kind, filename }: { kind: string; filename: string }): Promise<Uint8Array> {
    // Fonts and decoders of images are only needed to draw a page.
    if (kind !== 'cMapUrl' || !/^[\w-]+\.bcmap$/.test(filename)) throw new Error('only character maps are available')
    return new Uint8Array(await readFile(new URL(filename, folder)))
  }
}
