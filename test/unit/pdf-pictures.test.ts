/** Which images of a PDF count as pictures. What real programs write is in test/field/documents. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countPictures, imagesIn } from '../../src/agent/documents/pdf-pictures.ts'

const a4 = { width: 595, height: 842 }

/** Each entry is the description of an object; those with `stream` have one. */
const fileOf = (...objects: string[]): Buffer =>
  Buffer.from(`%PDF-1.7\n${objects.map((object, at) => `${at + 1} 0 obj\n<<${object}>>\nstream\n\x00\xff\nendstream\nendobj\n`).join('')}`)
const image = (width: number | string, height: number | string, more = ''): string =>
  `/Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace /DeviceRGB ${more}`
const pictures = (file: Buffer, pages = [a4]): number => countPictures(imagesIn(file), pages)

void test('documents: pictures of a PDF are counted once, without their transparency, stencils, dots and other names', () => {
  for (const [count, file] of [
    [0, fileOf('/Type /Page', '/ProcSet [/PDF /ImageB /ImageC]', '/Images 3')],
    [1, fileOf(image(300, 200))],
    [1, fileOf(image(300, 200, '/SMask 2 0 R'), image(300, 200))],
    [1, fileOf(image(300, 200, '/Mask 2 0 R'), image(900, 600))],
    [0, fileOf(image(300, 200, '/ImageMask true'))],
    [0, fileOf(image(63, 4000), image(16, 16))],
    [2, fileOf(image(64, 64), image('5 0 R', '6 0 R'))],
    [1, Buffer.from('1 0 obj<</Subtype/Image/Height 200/Width 300/Length 5>>stream\nabcde\nendstream endobj')],
    [3, fileOf(image(300, 200), image(300, 200), image(300, 200))],
  ] as const)
    assert.equal(pictures(file), count, file.toString('latin1'))
})

void test('documents: the scan of a page is no picture, on any sheet, and a picture beside it is one', () => {
  const [scan, landscape] = [image(1240, 1754), image(1754, 1240)]
  assert.equal(pictures(fileOf(scan)), 0)
  assert.equal(pictures(fileOf(landscape, scan), [a4, a4]), 0)
  assert.equal(pictures(fileOf(image(2550, 3300)), [{ width: 612, height: 792 }]), 0)
  assert.equal(pictures(fileOf(scan, image(1600, 1200))), 1)
  // More of them than there are pages.
  assert.equal(pictures(fileOf(scan, scan, scan)), 2)
  assert.equal(pictures(fileOf(scan), []), 1)
})

void test('documents: any bytes are looked through', () => {
  for (const text of ['/Subtype /Image', 'obj /Subtype /Image stream', '1 0 obj /Subtype /Image', '1 0 obj'.repeat(1000), ''])
    assert.equal(pictures(Buffer.from(text)), 0, text)
  const view = new Uint8Array(fileOf(image(300, 200))).subarray(0)
  assert.equal(countPictures(imagesIn(view), []), 1)
})
