/**
 * A strict parser of the Prometheus text format 0.0.4, written from its description, for tests that check the content of a scrape and that
 * any scraper would accept it. Fails the test for anything that the format does not allow, or that its conventions advise against.
 */
import assert from 'node:assert/strict'

export type Exposition = {
  /** By series as written, `name{label="value"}`. */
  values: Map<string, number>
  types: Map<string, string>
}

// Go's ParseFloat, which the format uses as its grammar of numbers; it accepts Inf and NaN in any case.
const number = /^(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?Inf|NaN)$/i
const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)/

export function parseExposition(text: string): Exposition {
  assert.ok(text.endsWith('\n'), 'the last line ends')
  const values = new Map<string, number>()
  const types = new Map<string, string>()
  const helped = new Set<string>()
  let family = ''
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '') continue
    const [, kind, name, rest] = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line) ?? []
    if (kind === 'HELP') {
      assert.ok(!helped.has(name!), `${name} is described once`)
      helped.add(name!)
      family = name!
    } else if (kind === 'TYPE') {
      assert.equal(name, family, 'TYPE stands beside its HELP')
      assert.match(rest!, /^(counter|gauge|histogram)$/)
      assert.ok(rest !== 'counter' || name!.endsWith('_total'), `the counter ${name} ends in _total`)
      types.set(name!, rest!)
    } else readSample(line)
  }
  for (const [name, type] of types) if (type === 'histogram') checkHistogram(name)
  return { values, types }

  function readSample(line: string): void {
    const [, name, labels = '', value] = sample.exec(line) ?? assert.fail(`not a sample: ${line}`)
    const type = types.get(family)
    const own = type === 'histogram' ? name!.replace(/_(bucket|sum|count)$/, '') : name
    assert.equal(own, family, 'a sample is in its family')
    const seen = new Set<string>()
    for (let rest = labels; rest !== '';) {
      const [whole, key] = label.exec(rest) ?? assert.fail(`not labels: ${rest}`)
      assert.ok(!seen.has(key!), `the label ${key} stands once`)
      seen.add(key!)
      rest = rest.slice(whole.length)
    }
    assert.match(value!, number)
    const series = line.slice(0, line.lastIndexOf(' '))
    assert.ok(!values.has(series), `${series} stands once`)
    const read = /Inf$/i.test(value!) ? Number(value!.replace(/Inf$/i, 'Infinity')) : Number(value)
    assert.ok(type !== 'counter' || read >= 0, `${series} is not below zero`)
    values.set(series, read)
  }

  /** Buckets never decrease, and the last one equals the count. */
  function checkHistogram(name: string): void {
    const groups = new Map<string, { le: number; count: number }[]>()
    for (const [series, count] of values) {
      if (!series.startsWith(`${name}_bucket{`)) continue
      const le = /le="([^"]*)"/.exec(series)![1]!.replace('+Inf', 'Infinity')
      const others = series
        .slice(`${name}_bucket`.length)
        .replace(/le="[^"]*",?/, '')
        .replace('{}', '')
      groups.set(others, [...(groups.get(others) ?? []), { le: Number(le), count }])
    }
    for (const [others, buckets] of groups) {
      buckets.reduce((before, bucket) => {
        assert.ok(bucket.le > before.le && bucket.count >= before.count, `${name}${others}`)
        return bucket
      })
      assert.equal(buckets.at(-1)!.le, Infinity)
      assert.equal(values.get(`${name}_count${others}`), buckets.at(-1)!.count)
      assert.ok(values.has(`${name}_sum${others}`))
    }
  }
}
