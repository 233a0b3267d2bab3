/** `turnkeep apply` with invalid files: each mistake is reported with its position before anything is requested or changed. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runCommand } from '../support/run-command.ts'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'
import { ApplyFixture } from './apply-fixture.ts'

let app: TestApp
let fixture: ApplyFixture
before(async () => {
  app = await startTestApp()
  fixture = new ApplyFixture(app)
})
after(async () => {
  fixture[Symbol.dispose]()
  await app.close()
})

describe('turnkeep apply: invalid files', () => {
  const refused = async (text: string): Promise<string> => {
    fixture.write('agents.yaml', text)
    // No request is made: there is no server at this address.
    const ran = await fixture.apply([], { TURNKEEP_PUBLIC_URL: 'http://127.0.0.1:1' })
    assert.deepEqual([ran.code, ran.stdout], [2, ''])
    assert.match(ran.stderr, /^turnkeep: nothing was applied:\n/)
    return ran.stderr.replaceAll(join(fixture.folder, 'agents.yaml'), 'F')
  }

  test('each mistake is reported with line, column and the closest valid name, all in one run', async () => {
    const reported = await refused(`
owner: []
owners:
  - name: Acme
    agents:
      - nmae: Support
        modle: demo/demo
        system_prompt: 12
        temperature: hot
        max_steps: 99
        enabled: yes
        knowledge: {topk: 3}
        keys: [{name: a, permision: full}]
        documents: {}
        tools:
          - {type: http, name: a b, description: d, parameters: {}, method: get, url: x, secrets: {K: canary-1}, headers: {X-Api-Key: canary-2}}
          - {name: now}
providers:
  - {name: openai, kind: openia, api_key: canary-3}
`)
    for (const line of [
      'F:2:1: a declaration has no field owner: did you mean owners?',
      'F:6:9: an agent has no field nmae: did you mean name?',
      'F:7:9: an agent has no field modle: did you mean model?',
      'F:8:9: system_prompt must be text, but is 12; put it in quotes: "12"',
      'F:9:9: temperature must be a number from 0 to 2, but is hot',
      'F:10:9: max_steps must be a whole number from 1 to 32, but is 99',
      'F:11:9: enabled must be true or false, but is yes',
      'F:12:21: knowledge has no field topk: did you mean top_k?',
      'F:13:26: a key has no field permision: did you mean permission?',
      'F:14:9: documents must be a list, with lines that start with "- ", but is a map',
      'F:16:26: name must be made up of letters, digits, _ and -',
      'F:17:13: a tool requires a type: http, mcp or builtin',
      'F:19:20: kind must be one of openai, anthropic, google, openai-compatible: did you mean openai?',
    ])
      assert.ok(reported.includes(`\n${line}\n`), `${line}\n${reported}`)
    assert.match(reported, /\nF:16:\d+: K: a secret must not be in the file/)
    assert.match(reported, /\nF:16:\d+: X-Api-Key: a secret must not be in the file/)
    assert.match(reported, /\nF:19:34: api_key must not be in the file, .* such as api_key_env: OPENAI_API_KEY\n/)
    assert.ok(!reported.includes('canary'))
  })

  test('duplicate names, invalid documents, missing files', async () => {
    fixture.write('empty.md', '')
    const reported = await refused(`
providers: [{name: p, kind: openai, api_key_env: K}, {name: p, kind: openai, api_key_env: K}]
owners:
  - name: Acme
    agents:
      - {name: A, model: demo/demo, system_prompt: a, system_prompt_file: nope.txt}
      - name: A
        keys: [{name: k}, {name: k}]
        tools: [{type: builtin, name: now}, {type: builtin, name: now}]
        documents: [{file: nope.md}, {file: a.exe}, {text: foo}, {title: t}, {file: empty.md}, {title: u, text: a}, {title: u, text: b}]
  - name: Acme
`)
    for (const line of [
      /^F:2:54: duplicate provider p, first declared at .*F?.*:2$/m,
      /^F:6:55: system_prompt and system_prompt_file cannot be used together$/m,
      /^F:6:55: cannot read the file: ENOENT/m,
      /^F:7:9: duplicate agent A, first declared at /m,
      /^F:8:27: duplicate key k, first declared at /m,
      /^F:9:45: duplicate tool now, first declared at /m,
      /^F:10:22: cannot read the file: ENOENT/m,
      /^F:10:39: a\.exe is not a supported file type: use md, txt, html, pdf or docx$/m,
      /^F:10:53: a document with text requires a title$/m,
      /^F:10:66: a document requires exactly one of file, text and url$/m,
      /^F:10:79: empty\.md is empty$/m,
      /^F:10:\d+: duplicate document u, first declared at .*:10; give one of them another title$/m,
      /^F:11:5: duplicate owner Acme, first declared at /m,
    ])
      assert.match(reported, line)
  })

  test('invalid YAML and anything but one declaration are reported with their position', async () => {
    assert.match(await refused('owners:\n  - name: "x\n'), /\nF:3:1: Missing closing "quote/)
    assert.match(await refused('owners: []\nowners: []\n'), /\nF:2:\d: Map keys must be unique/)
    assert.match(await refused(''), /\nF:1:1: the file is empty/)
    assert.match(await refused('[]'), /\nF:1:1: the file must be a map, such as "providers: …", but is a list/)
    const bare = 'owners: [{name: A, agents: [{name: B, documents: [docs/missing.md], keys: [website]}]}]'
    assert.match(await refused(bare), /must be a map, such as "file: …"[\s\S]*must be a map, such as "name: …"/)
    assert.match(await refused('owners:\n'), /\nF:1:1: owners must be a list, .*, but has no value/)
    assert.match(await refused('owners: []\n---\nowners: []\n'), /\nF:2:1: .*multiple documents.*each document in a separate file/)
    assert.match(await refused('owners: [{name: !!js/function x}]'), /\nF:1:17: Unresolved tag/)
    assert.match(await refused('owners: [{name: A, agents: [{name: B, tools: &a [*a]}]}]'), /a tool, such as/)
    assert.match(await refused('owners: [{name: "a\\u001b[31m", x: 1}]'), /an owner has no field x/)
    const missing = await runCommand(['apply', '-f', join(fixture.folder, 'nope.yaml')], fixture.environment())
    assert.deepEqual([missing.code, /cannot read .*nope\.yaml: ENOENT/.test(missing.stderr)], [2, true])
    assert.equal((await runCommand(['apply'], fixture.environment())).code, 2)
  })

  test('parameters that are not JSON are reported with their position: too many aliases, a cycle, an infinite number', async () => {
    const withParameters = (parameters: string): string =>
      `owners: [{name: W, agents: [{name: A, tools: [{type: http, name: t, description: d, method: GET, url: "https://e.com", parameters: ${parameters}}]}]}]`
    const ten = (what: string): string => `[${Array.from({ length: 10 }, () => what).join(',')}]`
    const laughs = `{a: &a ${ten('1')}, b: &b ${ten('*a')}, c: &c ${ten('*b')}, d: ${ten('*c')}}`
    for (const [parameters, why] of [
      [laughs, 'Excessive alias count'],
      ['&a {type: object, properties: {x: *a}}', 'it refers to itself'],
      ['{minimum: -.inf}', 'is not a JSON number'],
    ] as const)
      assert.match(await refused(withParameters(parameters)), new RegExp(`\\nF:1:120: parameters must be JSON: .*${why}.*\\n$`))
  })

  test('the text in the place of a secret is never shown, whatever it is', async () => {
    const reported = await refused(`
providers: [{name: p, kind: openai, api_key_env: 12345678}]
owners:
  - name: W
    agents:
      - name: A
        tools:
          - {type: http, name: t, description: d, method: GET, url: x, parameters: {}, headers: {X-Api-Key: 12345678, Cookie: true}, secrets: {K: {env: 12345678}}}
`)
    assert.match(reported, /: X-Api-Key: a secret must not be in the file/)
    assert.match(reported, /: Cookie: a secret must not be in the file/)
    assert.match(reported, /: api_key_env must be the name of an environment variable\n/)
    assert.match(reported, /: env must be the name of an environment variable\n/)
    assert.ok(!reported.includes('12345678'), reported)
  })

  test('a file name that a form cannot carry is refused; a name with a percent sign is not', async () => {
    const names = ['a"b.md', 'a\\b.md', 'a\nb.md', 'a\rb.md']
    for (const name of [...names, 'a%22b.md']) fixture.write(name, 'x')
    const documents = [...names, 'a%22b.md', 'nope.md'].map((file) => ({ file }))
    const reported = await refused(JSON.stringify({ owners: [{ name: 'W', agents: [{ name: 'A', documents }] }] }))
    assert.equal(reported.match(/which cannot be uploaded/g)?.length, 4, reported)
    assert.equal(reported.match(/\nF:1:\d+: /g)?.length, 5, reported)
  })

  test('what the server could not do is refused before anything is created: no model, no provider, no price, another kind', async () => {
    const before = await fixture.traces()
    fixture.write(
      'agents.yaml',
      `
providers: [{name: scripted, kind: openai}, {name: new, kind: openai}, {name: own, kind: openai-compatible, base_url: http://127.0.0.1:1/v1}]
owners:
  - name: Nobody
    agents:
      - {name: A}
      - {name: B, model: nowhere/x, system_prompt: b}
      - {name: C, model: scripted/unheard-of, system_prompt: c}
      - {name: D, model: own/llama, system_prompt: d}
`,
    )
    const ran = await fixture.apply()
    assert.equal(ran.code, 2)
    for (const line of [
      /:2:30: cannot change the kind of scripted from openai-compatible:/,
      /:2:45: the new provider new requires api_key_env/,
      /:6:9: the new agent A requires a model/,
      /:6:9: the new agent A requires a system_prompt/,
      /:7:19: unknown provider nowhere:/,
      /:8:19: no default price for scripted\/unheard-of: set the price of the agent/,
      /:9:19: no default price for own\/llama: set the price of the agent/,
    ])
      assert.match(ran.stderr, line)
    fixture.write('agents.yaml', 'providers: [{name: scripted, kind: openai-compatible, base_url: http://127.0.0.1:1/v1}]')
    const moved = await fixture.apply()
    assert.equal(moved.code, 2)
    assert.match(moved.stderr, /:1:\d+: api_key_env is required, because the base_url of scripted moves to another server/)
    assert.deepEqual(await fixture.traces(), before)
  })
})
