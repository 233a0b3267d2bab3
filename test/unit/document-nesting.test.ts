/** How deeply documents may be nested: decided by one pass over the tags, before anything builds a tree of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseHTML } from 'linkedom'
import { boundedHtml, maxDepth, refuseDeepXml } from '../../src/agent/documents/nesting.ts'
import { tokensOf } from '../../src/agent/documents/word/xml-tokens.ts'

const tooDeep = /^(?:DocumentRefused|Error): This document is nested too deeply: more than 512 elements are inside each other\./
type Node = { nodeName: string; children: Iterable<Node>; textContent: string | null; querySelectorAll(selectors: string): Iterable<Node> }
const treeOf = (html: string): Node => parseHTML(html).document as Node

function depthOf(root: Node): number {
  let depth = 0
  for (let level: Node[] = [...root.children]; level.length > 0; level = level.flatMap(({ children }) => [...children])) depth++
  return depth
}

void test('knowledge.bounded: HTML is refused if it is nested too deeply, whatever the element, and only then', () => {
  const around = '<html><body>'
  for (const name of [
    'div',
    'b',
    'span',
    'font',
    'ul><li',
    'table><tr><td',
    'blockquote',
    'x-y',
    'svg',
    'math',
    'details',
    'section',
    'DIV',
  ]) {
    assert.throws(() => boundedHtml(around + `<${name}>`.repeat(maxDepth + 1)), tooDeep, name)
    const perRound = name.split('>').length
    const fits = around + `<${name}>`.repeat(Math.floor((maxDepth - 4) / perRound))
    assert.ok(depthOf(treeOf(boundedHtml(fits))) <= maxDepth, name)
  }
  // In a comment, a script or an attribute, it is no element.
  const deep = '<div>'.repeat(1_000)
  for (const inside of [`<!--${deep}-->`, `<script>${deep}</script>`, `<style>${deep}</style>`, `<p title="${deep}">x</p>`])
    assert.equal(boundedHtml(inside), inside)
})

void test('knowledge.bounded: elements without end tags are no deeper in a list or a table of any length', () => {
  const words = [
    ['<ul>', '<li>one', 'li'],
    ['<ul>', '<li><p>one', 'li'],
    ['<ol>', '<li><p><b>one', 'li'],
    ['<ul>', '<LI><DIV>one', 'li'],
    ['<dl>', '<dt>one<dd><p>two', 'dd'],
    ['<table>', '<tr><td><p>one<td><font>two', 'td'],
    ['<table>', '<tbody><tr><th>one<td><ul><li>two', 'td'],
    ['', '<p><b>one', 'p'],
    ['<select>', '<option>one', 'option'],
    ['<table>', '<tr><td><table><tr><td>inner</table>', 'td'],
  ] as const
  for (const [start, item, name] of words) {
    const page = `<html><body>${start}${item.repeat(2_000)}`
    assert.doesNotThrow(() => boundedHtml(page), item)
    const tree = treeOf(boundedHtml(page))
    assert.ok([...tree.querySelectorAll(name)].length >= 2_000, item)
    assert.ok(depthOf(tree) < 15, `${item}: ${depthOf(tree)}`)
  }
  // What is inside of an item stays there.
  const nested = '<ul><li>a<ul><li>b</li></ul><p>c</p></li><li>d</li></ul>'
  assert.equal(boundedHtml(nested), nested)
  const drawn = '<svg><li>a<li>b</svg>'
  assert.equal(boundedHtml(drawn), drawn)
})

void test('knowledge.bounded: whatever the tags, the tree of a page that is not refused is bounded, and its text is the same', () => {
  const names = [
    'li',
    'p',
    'td',
    'tr',
    'table',
    'tbody',
    'dd',
    'dt',
    'ul',
    'div',
    'b',
    'svg',
    'br',
    'option',
    'select',
    'a',
    'html',
    'body',
  ]
  const piece = fc.oneof(
    fc.constantFrom(...names).map((name) => `<${name}>`),
    fc.constantFrom(...names).map((name) => `</${name}>`),
    fc.constantFrom(...names).map((name) => `<${name} title="<p>"/>`),
    fc.constantFrom('word ', '<', '<!--', '-->', '&lt;', '"', '<b '),
  )
  const page = fc.tuple(fc.array(piece, { maxLength: 60 }), fc.integer({ min: 1, max: 60 }))
  fc.assert(
    fc.property(page, ([pieces, times]) => {
      const html = `<html><body>${pieces.join('').repeat(times)}`
      let bounded: string
      try {
        bounded = boundedHtml(html)
      } catch (error) {
        assert.match(String(error), tooDeep)
        return
      }
      const tree = treeOf(bounded)
      assert.ok(depthOf(tree) <= maxDepth)
      assert.equal(bounded.replace(/<\/\w+>/g, ''), html.replace(/<\/\w+>/g, ''))
    }),
    { numRuns: 100 },
  )
})

void test('knowledge.bounded: XML is refused if it is nested too deeply, or if a tag never ends', () => {
  refuseDeepXml(`${'<w:p>'.repeat(maxDepth)}x${'</w:p>'.repeat(maxDepth)}`.repeat(3))
  refuseDeepXml('<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a b=">"><!-- <a> --><![CDATA[<a>]]><c/></a>')
  assert.throws(() => refuseDeepXml('<w:tbl><w:tr><w:tc>'.repeat(maxDepth)), tooDeep)
  for (const broken of ['<a', '<a b="', "<a b='>", '<a/><!-- <a>', '<![CDATA[', '<?xml ', `<a>${'<b'.repeat(10)}`])
    assert.throws(() => refuseDeepXml(broken), /damaged: a tag of its XML never ends/, broken)
})

void test('knowledge.bounded: the tokens of any text are the text, and each character is read once', () => {
  const piece = fc.constantFrom('<a', ' b="', '"', "'", '>', '/>', '</a', '<!--', '-->', '<![CDATA[', ']]>', '<?', '?>', 'x', ' ', '<')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = pieces.join('')
      assert.equal([...tokensOf(text)].map(({ raw }) => raw).join(''), text)
    }),
  )
  // What never ends is one token, and not one search to the end of the text for each start.
  for (const start of ['<!--', '<![CDATA[', '<?', '<a', '<a b="', "<a '"]) assert.equal([...tokensOf(start.repeat(1_000))].length, 1, start)
})
