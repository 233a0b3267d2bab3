/** Which titles in files are their authors', and which were filled in by programs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readPage } from '../../src/agent/documents/html.ts'
import { Warnings } from '../../src/agent/documents/warnings.ts'
import { realTitle } from '../../src/agent/documents/real-title.ts'

test('a title that a program filled in is not used', () => {
  for (const text of [
    null,
    '',
    '  ',
    '—',
    'about:blank',
    'About:Blank',
    'untitled',
    'Untitled-1',
    'Untitled Document 2',
    'untitled.pdf',
    'Unbenannt',
    '(anonymous)',
    '[No title]',
    'Document1',
    'document (3)',
    'PowerPoint Presentation',
    'Presentation2',
    'Slide 1',
    'Microsoft Word - x.doc',
    'Microsoft PowerPoint - Q3 final v2',
    'handbook-final.docx',
    'Handbook final.pdf',
    'C:\\Users\\ann\\handbook',
    '/home/ann/handbook',
    'file:///C:/handbook.htm',
    'https://example.com/print?id=7',
    'data:text/html,x',
    'New Tab',
    'null',
    'undefined',
    'Scanned Document',
  ])
    assert.equal(realTitle(text), null, String(text))
})

test('every other title is used, without surrounding white space', () => {
  for (const text of [
    'Ferries & fares – Harbour Line',
    'An introduction to Node.js',
    'Release notes 2.10',
    'Document retention policy',
    'About us',
    'The unknown soldier',
    'Print shop: prices',
    '2026',
    '利用規約',
    'Title IX',
    'Books (2026)',
    'Presentation of the annual report',
  ])
    assert.equal(realTitle(` ${text}\n`), text)
})

test('an HTML page with such a title has none, so that its address is shown', () => {
  const page = (title: string): string => `<html><head><title>${title}</title></head><body><h1>Hours</h1><p>Open at nine.</p></body></html>`
  assert.equal(readPage(page('about:blank'), new Warnings()).title, null)
  assert.equal(readPage(page('Untitled'), new Warnings()).title, null)
  assert.equal(readPage(page('Opening hours'), new Warnings()).title, 'Opening hours')
})
