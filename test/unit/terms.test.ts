/** How texts and messages are turned into search terms before they reach either database. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { findBy, termsLiteral } from '../../src/store/queries/knowledge/chunk-terms.ts'
import { languages, stemmerOf } from '../../src/store/queries/knowledge/stems.ts'
import { marked, maxTerms, queryTerms, termsOf, termsVersion } from '../../src/store/queries/knowledge/terms.ts'
import { matchExpression, tsquery, weigh } from '../../src/store/queries/knowledge/weights.ts'
import { anyText } from '../support/any-text.ts'

const asked = (text: string): string[] => queryTerms(text, [null])
const term = /^:?[\p{L}\p{N}\p{M}\p{Co}]{1,64}$/u

void test('knowledge: a query becomes the stems of its words, pairs in scripts without spaces, without duplicates and stop words', () => {
  assert.deepEqual(asked('What is C++, and is it "C"?'), ['c'])
  assert.deepEqual(asked("O'Brien's été AND 2nd"), ['o', 'brien', 'et', 'ete', '2nd'])
  assert.deepEqual(asked('shipped items, and shipping an item'), ['ship', 'item'])
  assert.deepEqual(asked('申请退款 iPhone退了 款'), ['申请', '请退', '退款', 'iphon', '退了', '款'])
  assert.deepEqual(asked('what is this'), ['what', 'is', 'thi'])
  assert.deepEqual(asked('?!… 💶 \u0000"'), [])
})

void test('knowledge: a text is indexed by the same terms as a query for it, in each language', () => {
  assert.deepEqual(termsOf('Refunds 退款了', null), ['refund', '退', '退款', '款', '款了', '了'])
  for (const [language, text, question] of [
    ['german', 'Die Lieferungen der Häuser', 'lieferung haus'],
    ['french', 'les livraisons gratuites', 'livraison gratuite'],
    ['spanish', 'devoluciones y envíos', 'devolución envio'],
    ['russian', 'возвраты товаров', 'возврат товара'],
  ] as const) {
    const indexed = new Set(termsOf(text, language))
    for (const one of question.split(' '))
      assert.ok(
        queryTerms(one, [language]).some((form) => indexed.has(form)),
        `${language}: ${one} of ${[...indexed].join(' ')}`,
      )
  }
  assert.deepEqual(termsOf('Refunds', 'none'), ['refunds'])
  assert.deepEqual(queryTerms('refunds', ['none', null]), ['refunds', 'refund'], 'by the stems of each')
})

void test('knowledge: whatever a text contains, its terms are letters and digits, short, and a query has at most 64 words', () => {
  assert.equal(asked(Array.from({ length: 10_000 }, (_, n) => `word${n}`).join(' ')).length, 64)
  assert.deepEqual(asked('x'.repeat(32_000)), [])
  assert.deepEqual(termsOf('x'.repeat(32_000), null), [])
  assert.deepEqual(termsOf('\u0300 a \u0345', null), ['a'], 'accents without a letter')
  fc.assert(
    fc.property(anyText(100), fc.constantFrom(null, ...languages), (text, language) => {
      const terms = queryTerms(text, [language])
      assert.ok(terms.length <= maxTerms)
      for (const one of [...terms, ...termsOf(text, language)]) assert.match(one, term)
    }),
  )
  for (const language of languages)
    for (const word of ['a', 'ab', 'yyyy', 'ïes', 'x'.repeat(64), '12', 'ß', 'が', 'ความ'])
      assert.match(stemmerOf(language)(word), term, language)
})

void test("knowledge: a chunk's tsvector holds the same terms, marked with the agent's number, those of title and headings with weight A", () => {
  const found = findBy(7, { title: 'Refunds', language: null }, { headings: 'How › When', text: 'A refund; 退款' })
  assert.equal(termsLiteral(found), `'7:refund':1A,5 '7:how':2A '7:when':3A '7:a':4 '7:退':6 '7:退款':7 '7:款':8`)
  assert.equal(marked(12, 'refund'), '12:refund')
  const long = termsLiteral({ heading: [], text: Array.from({ length: 20_000 }, () => '1:word') })
  assert.equal(long.split(',').length, 255)
})

void test('knowledge: rare words weigh more; words that match too many chunks are searched in pairs', () => {
  const weighed = weigh(
    new Map([
      ['1:rare', 3],
      ['1:common', 900],
      ['1:nowhere', 0],
    ]),
    1_000,
  )
  assert.deepEqual(
    weighed.map((one) => one.term),
    ['1:rare', '1:common'],
  )
  assert.ok(weighed[0]!.weight > 5 && weighed[1]!.weight > 0 && weighed[1]!.weight < 0.2)
  assert.equal(matchExpression(weighed, 1_000, 1_000), '"1:rare" OR "1:common"')
  assert.equal(matchExpression(weighed, 1_000, 50_000), '"1:rare" OR "1:rare" OR "1:rare" OR "1:rare" OR "1:common"', 'beside other agents')
  const many = weigh(
    new Map([
      ['1:rare', 3],
      ['1:a', 30_000],
      ['1:b', 40_000],
      ['1:c', 50_000],
    ]),
    100_000,
  )
  assert.equal(matchExpression(many, 100_000, 100_000), '"1:rare"')
  assert.equal(matchExpression(many.slice(1), 100_000, 100_000), '("1:a" AND "1:b")')
  assert.equal(matchExpression(many.slice(3), 100_000, 100_000), '"1:c"')
  assert.equal(tsquery(weighed, 1_000), "('1:rare')")
  assert.equal(tsquery(weighed.slice(1), 1_000), "('1:common')", 'where there is nothing else')
  assert.equal(tsquery(many, 100_000), "('1:rare')", 'what is expected in too many is left out')
  assert.equal(tsquery(many.slice(2), 100_000), "('1:b' & '1:c')")
})

/** Texts of many scripts and languages, as documents and people write them. */
const written: [language: string | null, text: string][] = [
  ['english', 'Refunds are paid within 14 days; see https://example.com/terms or e-mail help@example.com.'],
  ['english', "O'Brien's C++ and C# courses don't cost $1,299.50"],
  ['german', 'Die Krankenversicherungskarte gilt für Straßenbahnfahrten ab 1.1.2027.'],
  ['french', "L'abonnement n'est pas remboursé après l'échéance"],
  ['spanish', '¿Cuándo se envían los paquetes pequeños?'],
  ['turkish', 'İstanbul’da IŞIK ve ılık çay'],
  ['russian', 'Возврат товаров принимается в течение тридцати дней'],
  ['arabic', 'يُمكنُ إرجاعُ المُنتَجات خلال ٣٠ يومًا'],
  [null, 'ניתן להחזיר מוצרים בתוך שלושים ימים'],
  ['hindi', 'उत्पाद १४ दिनों में लौटाए जा सकते हैं'],
  [null, '상품은 30일 이내에 반품할 수 있습니다'],
  [null, '商品は30日以内に返品できます。ｶﾀｶﾅとカタカナ'],
  [null, '商品可在三十天内退货'],
  [null, 'สินค้าสามารถคืนได้ภายใน 30 วัน'],
  [null, 'Sản phẩm được đổi trả trong vòng ba mươi ngày'],
  [null, 'ﬁne print, soft\u00adhyphen, Ⅷ, ½, ２０２６, naïve café'],
]

void test('knowledge: a text has the terms that are known for the version of the terms; after an intended change, raise it, then --update-golden', () => {
  const file = new URL('../golden/search-terms.json', import.meta.url)
  const now = {
    version: termsVersion,
    terms: Object.fromEntries(written.map(([language, text]) => [text, termsOf(text, language).join(' ')])),
  }
  const golden = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as typeof now) : undefined
  // Other terms with the same version would leave the chunks that are stored as they are.
  if (process.argv.includes('--update-golden') && golden?.version !== termsVersion) writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`)
  else assert.deepEqual(now, golden)
})
