/**
 * The search by words finds a word however it is written: width, compatibility forms, case, accents, digits, invisible characters, particles
 * and prefixes. Every case that was reported, and properties over generated words of many scripts. Rows on both stores.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { extractDocument } from '../../src/agent/documents/extract.ts'
import { normalize } from '../../src/store/queries/knowledge/normalize.ts'
import { languages } from '../../src/store/queries/knowledge/stems.ts'
import { queryTerms, termsOf } from '../../src/store/queries/knowledge/terms.ts'
import { openOwnStore } from '../support/own-store.ts'
import { Bench } from '../store/conformance.ts'
import { setLanguage } from './search/recall.ts'
import { anyVariant, anyWord, variants, wordOf } from './word-variants.ts'

/** Generated words of each property, on top of the constants below. */
const generated = 3_000
/** Generated words that are searched for in a real store, which takes milliseconds each. */
const stored = 150

const read = (name: string): Buffer => readFileSync(new URL(`inputs/${name}`, import.meta.url))

/** Whether a search in this language finds a passage with the text, apart from its rank. */
function finds(query: string, text: string, language: string | null = null): boolean {
  const indexed = new Set(termsOf(text, language))
  return queryTerms(query, [language]).some((term) => indexed.has(term))
}

type Case = { kind: string; language: string | null; text: string; query: string }

const reported: Case[] = read('12-words.tsv')
  .toString()
  .trim()
  .split('\n')
  .map((line) => {
    const [language, text, query] = line.split('\t') as [string, string, string]
    return { kind: 'order of normalization', language, text, query }
  })

/** Reported in words, without an input; and their siblings. */
const siblings: [text: string, query: string, language?: string][] = [
  ['ışık', 'isik'],
  ['ISPARTA', 'ısparta'],
  ['İstanbul’da', 'ISTANBUL'],
  ['Łódź', 'lodz'],
  ['Đà Nẵng', 'da nang'],
  ['Straße', 'STRASSE'],
  ['Ærøskøbing', 'aeroskobing'],
  ['٣٤٥', '345'],
  ['สายที่ ๑๔', '14'],
  ['room १२३', '１２３'],
  ['ὀδός', 'ΟΔΟΣ'],
  ['ёлка', 'елка'],
  ['ﬁnance ㎏ ①', 'finance'],
  ['ｶﾞｲﾄﾞ', 'ガイド'],
  ['カ\u3099イト\u3099', 'ガイド'],
  ['한국어'.normalize('NFD'), '한국어'],
  ['شُكْرًا', 'شكرا'],
  ['مـــحـــمد', 'محمد'],
  ['کتاب', 'كتاب'],
  ['شَلום ז״ל', 'זל'],
  ['שָׁלוֹם', 'שלום'],
  ['כתובות', 'הכתובות'],
  ['می\u200cخواهم', 'میخواهم'],
  ['کتاب\u200cها', 'کتاب'],
  ['ใบเสร็จรับเงิน', 'ใบเสร็จ'],
  ['комп’ютер', 'компʼютер'],
  ['1\ufe0f\u20e3 step', '1'],
  ['Müller', 'Mueller'],
  ['Mueller', 'Müller', 'german'],
  ['Größe', 'GROESSE', 'german'],
  ['Smørrebrød', 'smoerrebroed', 'danish'],
  ['Reisekostenerstattung', 'Erstattung', 'german'],
  ['Reisekostenerstattung', 'Reisekosten', 'german'],
  ['Erstattung der Reisekosten', 'Reisekostenerstattung', 'german'],
  ['verzekeringsmaatschappij', 'verzekering', 'dutch'],
  ['devoluciones', 'devolucion', 'spanish'],
  ['والكتاب', 'كتاب'],
  ['للطلاب', 'الطلاب'],
  ['ובבית', 'בית'],
]

void test('knowledge: reported words are found, whatever their width, case, accents, digits and particles', async (t) => {
  const store = await openOwnStore(t)
  const cases = [...reported, ...siblings.map(([text, query, language = null]): Case => ({ kind: 'sibling', language, text, query }))]
  const missed: string[] = []
  for (const language of new Set(cases.map((one) => one.language))) {
    const { agentId } = await Bench.make(store, 1n)
    await setLanguage(store, agentId, language)
    const own = cases.filter((one) => one.language === language)
    const chunks = own.map(({ text }) => ({ headings: '', text }))
    await store.write.indexDocument({ documentId: `doc_${agentId}`, agentId, title: '', text: '', chunks })
    for (const { kind, text, query } of own) {
      const found = await store.read.searchChunks({ agentId, query, limit: 20, languages: [language] })
      // The original text is shown, not what it is found by.
      if (!found.some((one) => one.text === text)) missed.push(`${kind}: ${query} in ${text} (${language})`)
    }
  }
  assert.deepEqual(missed, [])
})

void test('knowledge: words of a full-width page and of a page with soft hyphens are found', async (t) => {
  const store = await openOwnStore(t)
  for (const [fileName, language, queries] of [
    ['fullwidth.md', 'none', ['ABC', 'abc', '1234', '03-1234-5678', 'ハンカクカナ', '電話番号', '５６７８', 'ﾊﾝｶｸ']],
    ['softhyphen.html', 'german', ['Kostenerstattung', 'Reisekostenerstattung', 'Erstattung', 'Reisekosten', 'supercalifragil', 'zerowidth', 'zero', 'umtauschbar', 'Wochen']], // prettier-ignore
  ] as const) {
    const { agentId } = await Bench.make(store, 1n)
    await setLanguage(store, agentId, language)
    const { chunks } = await extractDocument({ bytes: read(fileName), fileName, mediaType: null, isText: false }, () => undefined)
    await store.write.indexDocument({ documentId: `doc_${agentId}`, agentId, title: '', text: '', chunks })
    for (const query of queries)
      assert.ok((await store.read.searchChunks({ agentId, query, limit: 5, languages: [language] })).length > 0, `${fileName}: ${query}`)
  }
})

void test('knowledge: a text is normalized to one form, and that form to itself', () => {
  fc.assert(
    fc.property(fc.oneof(anyWord, fc.string({ unit: 'binary', maxLength: 12 })), (text) => {
      assert.equal(normalize(normalize(text)), normalize(text))
    }),
    { numRuns: generated },
  )
  for (const [name, variant] of Object.entries(variants))
    fc.assert(
      fc.property(anyWord, fc.nat(1000), (word, choice) => assert.equal(normalize(variant(word, choice)), normalize(word), name)),
      { numRuns: generated / 10 },
    )
})

void test('knowledge: a word is found in any of its forms by any other one, in every language', () => {
  const written = anyWord.chain((word) => fc.tuple(fc.constant(word), anyVariant(word), anyVariant(word)))
  fc.assert(
    fc.property(written, fc.constantFrom(null, ...languages), ([, text, query], language) => {
      assert.ok(finds(query, `x ${text} y`, language), JSON.stringify({ text, query, language }))
    }),
    { numRuns: generated },
  )
})

void test('knowledge: a query is made by the rules of the index: all that a text is found by, it finds', () => {
  fc.assert(
    fc.property(fc.array(anyWord, { minLength: 1, maxLength: 5 }), fc.constantFrom(null, ...languages), (words, language) => {
      for (const word of words) assert.ok(finds(word, words.join(' '), language), word)
    }),
    { numRuns: generated },
  )
})

void test('knowledge: a Korean word is found with any particle by the word with any other one', () => {
  const particle = fc.constantFrom(
    ...'은 는 이 가 을 를 에 에서 으로 의 도 와 과 하고 까지 부터 에게 처럼 입니다 입니까 에서는 으로는 이라고'.split(' '),
    '',
  )
  fc.assert(
    fc.property(wordOf('hangul', 2), particle, particle, (word, one, other) => {
      assert.ok(finds(word + one, word + other, 'none'), `${word + one} in ${word + other}`)
      assert.ok(finds(word, `${word}${one}${other}`, 'none'))
    }),
    { numRuns: generated },
  )
})

void test('knowledge: an Arabic or Hebrew word is found with any prefix by the word with any other one', () => {
  const arabic = fc.constantFrom('', ...'ال و ف ب ل ك وال بال فال كال لل ول وب'.split(' '))
  const hebrew = fc.constantFrom('', ...'ה ו ב ל מ ש כ וה של שה כש ול וב ומ מה'.split(' '))
  for (const [script, prefix] of [
    ['arabic', arabic],
    ['hebrew', hebrew],
  ] as const)
    fc.assert(
      fc.property(wordOf(script, 3), prefix, prefix, (word, one, other) => {
        assert.ok(finds(word, one + word, 'none'), `${word} in ${one + word}`)
        assert.ok(finds(one + word, word, 'none'), `${one + word} in ${word}`)
        assert.ok(finds(one + word, other + word, 'none'), `${one + word} in ${other + word}`)
      }),
      { numRuns: generated },
    )
})

void test('knowledge: a German compound is found by its parts, and its parts by the compound', () => {
  const parts =
    'Reise Kosten Versand Rückgabe Liefer Zahlung Kunden Konto Geschenk Karte Schlüssel Fenster Steuer Bericht Museum Eintritt'.split(' ')
  for (const first of parts)
    for (const last of parts)
      for (const joint of ['', 's']) {
        const compound = `${first}${joint}${last.toLowerCase()}`
        for (const one of [first, last]) assert.ok(finds(one, `eine ${compound}`, 'german'), `${one} in ${compound}`)
        if (first !== last) assert.ok(finds(compound, `die ${last} zur ${first}`, 'german'), compound)
      }
})

void test('knowledge: generated words in other forms are found in a real store, and shown as they were written', async (t) => {
  const store = await openOwnStore(t)
  const { agentId } = await Bench.make(store, 1n)
  const pairs = fc.sample(
    anyWord.chain((word) => fc.tuple(anyVariant(word), anyVariant(word))),
    { numRuns: stored, seed: 7 },
  )
  const chunks = pairs.map(([text], index) => ({ headings: '', text: `${text} p${index}x` }))
  await store.write.indexDocument({ documentId: 'doc_generated', agentId, title: '', text: '', chunks })
  for (const [index, [text, query]] of pairs.entries()) {
    const found = await store.read.searchChunks({ agentId, query: `${query} p${index}x`, limit: 1, languages: [null] })
    const [alone] = [await store.read.searchChunks({ agentId, query, limit: stored, languages: [null] })]
    assert.equal(found[0]?.text, chunks[index]!.text)
    assert.ok(
      alone.some((one) => one.text === chunks[index]!.text),
      JSON.stringify({ text, query }),
    )
  }
})
