/**
 * `turnkeep apply` against the real service: what it shows, what it changes, what it never does. See also apply-documents, apply-troubles,
 * apply-cut-off.
 */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runCommand } from '../support/run-command.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { ApplyFixture } from './apply-fixture.ts'

let app: TestApp
let fixture: ApplyFixture
before(async () => {
  app = await startTestApp()
  fixture = new ApplyFixture(app)
  fixture.write('prompt.txt', 'You answer.\nBe short.\nNever promise a date.\n\nKeep to the documents.\nSay so where they are silent.\n')
  mkdirSync(join(fixture.folder, 'docs'))
  fixture.write('docs/returns.md', '# Returns and refunds\n\nWithin thirty days.\n')
})
after(async () => {
  fixture[Symbol.dispose]()
  await app.close()
})

const acme = `
providers:
  - name: local
    kind: openai-compatible
    base_url: http://127.0.0.1:9/v1
    api_key_env: LOCAL_KEY
owners:
  - name: Acme Ltd
    balance_usd: 10.00
    agents:
      - name: Support
        model: demo/demo
        system_prompt_file: prompt.txt
        price: {prompt_usd_per_million: 0.10, completion_usd_per_million: "2", cached_prompt_usd_per_million: 0.02}
        temperature: 0.2
        max_output_tokens: 500
        history: {max_tokens: 4000}
        knowledge: {top_k: 3, language: none}
        enabled: false
        tools:
          - {type: builtin, name: now}
          - type: http
            name: order
            description: Where an order is.
            parameters: {type: object, properties: {order: {type: string}}}
            method: GET
            url: https://shop.example.com/{order}
            headers: {Authorization: "Bearer {shop_key}"}
            secrets: {shop_key: {env: SHOP_KEY}}
        keys:
          - {name: website, rate_limit: {limit: 600, window_seconds: 60}, secret_file: website.key}
          - {name: reports, permission: read-only, default_external_user_id: desk, mcp: false}
        documents:
          - file: docs/returns.md
          - {title: Shipping, text: We ship on Mondays.}
          - {url: "https://example.invalid/page", title: A page}
`
const secrets = { LOCAL_KEY: 'canary-local', SHOP_KEY: 'canary-shop' }

describe('turnkeep apply', { concurrency: false }, () => {
  test('a dry run shows the diff and changes nothing; --exit-code reports it to programs', async () => {
    fixture.write('agents.yaml', acme)
    const before = await fixture.traces()
    const ran = await fixture.apply(['--dry-run'], secrets)
    assert.equal(ran.code, 0, ran.stderr)
    assert.match(ran.stdout, /^\+ provider local\n {6}kind: openai-compatible\n/)
    assert.match(ran.stdout, /^\+ owner Acme Ltd\n {6}balance_usd: 10\.00\n\+ {3}agent Support\n/m)
    assert.match(ran.stdout, /^\+ {5}key website \(its secret is written to .*website\.key\)\n/m)
    assert.match(ran.stdout, /^\+ {5}document returns\.md \(file, 43 bytes\)\n/m)
    assert.match(ran.stdout, /^Plan: 8 to create\.\n/m)
    assert.equal((await fixture.apply(['--dry-run', '--exit-code'], secrets)).code, 1)
    assert.deepEqual(await fixture.traces(), before)
    assert.equal((await fixture.apply(['--exit-code'], secrets)).code, 2)
  })

  test("creates everything once; a key's secret goes into its file with mode 0600, and no other secret is written", async () => {
    const ran = await fixture.apply(['--json'], secrets)
    assert.equal(ran.code, 0, ran.stderr)
    const { changes, applied, unchanged } = JSON.parse(ran.stdout) as Json
    assert.deepEqual([applied, unchanged, changes.length], [true, 0, 8])
    assert.ok(changes.every(({ action, done }: Json) => action === 'create' && done))

    const owner = await fixture.one('/owners', 'Acme Ltd')
    assert.equal(owner.balance_usd, '10.00000000')
    const agent = await fixture.one('/agents', 'Support')
    assert.deepEqual(
      [agent.owner_id, agent.enabled, agent.version, agent.temperature, agent.max_output_tokens, agent.history.max_tokens],
      [owner.id, false, 1, 0.2, 500, 4000],
    )
    assert.deepEqual(agent.price, {
      prompt_usd_per_million: '0.10000000',
      completion_usd_per_million: '2.00000000',
      cached_prompt_usd_per_million: '0.02000000',
      cache_write_usd_per_million: null,
    })
    assert.deepEqual([agent.knowledge.top_k, agent.knowledge.language, agent.knowledge.max_tokens], [3, 'none', 1500])
    assert.equal(agent.system_prompt, readFileSync(join(fixture.folder, 'prompt.txt'), 'utf8').trimEnd())
    const website = await fixture.one(`/agents/${agent.id}/keys`, 'website')
    assert.deepEqual([website.permission, website.rate_limit.limit], ['full', 600])

    const file = join(fixture.folder, 'website.key')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const secret = readFileSync(file, 'utf8').trim()
    assert.match(secret, new RegExp(`^svc_live_${website.key_id}\\.`))
    const reports = changes.find(({ name }: Json) => name === 'reports')
    assert.match(reports.api_key, /^svc_live_/)
    for (const hidden of ['canary', secret, 'Bearer']) assert.ok(!(ran.stdout + ran.stderr).includes(hidden), hidden)
  })

  test('a second run has nothing to change: no version, no upload, no audit entry, and no secret is needed', async () => {
    const before = await fixture.traces()
    const ran = await fixture.apply()
    assert.equal(ran.code, 0, ran.stderr)
    assert.match(ran.stdout, /^No changes\. 8 unchanged\.\n/)
    assert.match(ran.stdout, /Not compared, because the server never returns them: 3 values/)
    assert.deepEqual(await fixture.traces(), before)
    assert.equal((await fixture.apply(['--dry-run', '--exit-code'])).code, 0)
  })

  test('shows and makes each change of a field, in one version per agent; fields not in the file are unchanged', async () => {
    const { id, max_output_tokens: most } = await fixture.one('/agents', 'Support')
    await app.made('PATCH', `/agents/${id}`, { max_steps: 5 })
    fixture.write(
      'prompt.txt',
      'You answer.\nBe short.\nNever promise a date or a price.\n\nKeep to the documents.\nSay so where they are silent.\n',
    )
    fixture.write('docs/returns.md', '# Returns and refunds\n\nWithin sixty days.\n')
    const changed = acme
      .replace('temperature: 0.2', 'temperature: 0.5')
      .replace('        max_output_tokens: 500\n', '')
      .replace('enabled: false', 'enabled: true')
      .replace('0.10', '0.1000')
      .replace('description: Where an order is.', 'description: Where an order is now.')
      .replace('limit: 600', 'limit: 700')
      .replace('default_external_user_id: desk, mcp: false', 'default_external_user_id: null, mcp: true')
      .replace('We ship on Mondays.', 'We ship on Tuesdays.')
      .replace('http://127.0.0.1:9/v1', 'http://127.0.0.1:10/v1')
    fixture.write('agents.yaml', changed)
    const keyless = await fixture.apply()
    assert.match(keyless.stderr, /the environment variable LOCAL_KEY is not set/, 'a base URL on another server needs the key')
    const { stdout, stderr, code } = await fixture.apply([], { LOCAL_KEY: secrets.LOCAL_KEY })
    assert.equal(code, 0, stderr)
    assert.match(
      stdout,
      /^~ provider local\n {6}base_url: http:\/\/127\.0\.0\.1:9\/v1 → http:\/\/127\.0\.0\.1:10\/v1\n {6}api_key: stored → sent again, from \$LOCAL_KEY\n/,
    )
    assert.match(
      stdout,
      /^ {2}owner Acme Ltd\n~ {3}agent Support \(version 2 → 3\)\n {8}temperature: 0\.2 → 0\.5\n {8}system_prompt:\n {12}You answer\.\n {12}Be short\.\n {10}- Never promise a date\.\n {10}\+ Never promise a date or a price\.\n {12}\n {12}Keep to the documents\.\n {10}… 1 unchanged line\n {8}tools\.order\.description: Where an order is\. → Where an order is now\.\n {8}enabled: no → yes\n/m,
    )
    assert.match(stdout, /^~ {5}key website\n {10}rate_limit\.limit: 600 → 700\n/m)
    assert.match(stdout, /^~ {5}key reports\n {10}default_external_user_id: desk → none\n {10}mcp: no → yes\n/m)
    assert.match(stdout, /^~ {5}document returns\.md\n {10}content: 43 bytes, sha256 \w+… → 42 bytes, sha256 \w+…\n/m)
    assert.match(stdout, /^Plan: 6 to update, 2 unchanged\.\n/m)
    const agent = await fixture.one('/agents', 'Support')
    assert.deepEqual([agent.version, agent.enabled, agent.max_steps, agent.max_output_tokens], [3, true, 5, most])
    assert.match((await fixture.applied(changed)).stdout, /^No changes\./)
  })

  test('values that cannot be compared are sent again with --secrets, and a version is created only if they differ', async () => {
    const same = await fixture.apply(['--secrets'], secrets)
    assert.equal(same.code, 0, same.stderr)
    assert.match(same.stdout, /api_key: stored → sent again, from \$LOCAL_KEY\n/)
    assert.match(same.stdout, /tools\.order\.secrets\.shop_key: stored → sent again, from \$SHOP_KEY\n/)
    assert.equal((await fixture.one('/agents', 'Support')).version, 3)
    const other = await fixture.apply(['--secrets'], { ...secrets, SHOP_KEY: 'canary-other' })
    assert.equal((await fixture.one('/agents', 'Support')).version, 4)
    assert.ok(![same, other].some(({ stdout, stderr }) => (stdout + stderr).includes('canary')))
    const unset = await fixture.apply(['--secrets'], { LOCAL_KEY: 'x' })
    assert.deepEqual([unset.code, /:\d+:\d+: the environment variable SHOP_KEY is not set\n$/.test(unset.stderr)], [2, true])
  })

  test('deletes only with --prune, and then only keys and documents of lists that the file contains', async () => {
    const { id, owner_id: ownerId } = await fixture.one('/agents', 'Support')
    await app.made('POST', '/agents', { owner_id: ownerId, name: 'Another', model: 'demo/demo', system_prompt: '' })
    const less = `
owners:
  - name: Acme Ltd
    agents:
      - name: Support
        documents:
          - {title: Shipping, text: We ship on Tuesdays.}
`
    const kept = await fixture.applied(less)
    assert.match(kept.stdout, /^No changes\. 3 unchanged\.\nNot in the file and left unchanged: 1 owner, 1 agent, 2 documents \(--prune/)
    const shown = await fixture.applied(less, '--prune', '--dry-run')
    assert.match(
      shown.stdout,
      /^- {5}document A page \(doc_\w+\)\n- {5}document [Rr]eturns.* \(doc_\w+\)\n\nPlan: 2 to delete, 3 unchanged\.\n/m,
    )
    assert.equal((await fixture.list(`/agents/${id}/documents`)).length, 3)
    await fixture.applied(less, '--prune')
    assert.deepEqual(
      (await fixture.list(`/agents/${id}/documents`)).map(({ title }) => title),
      ['Shipping'],
    )
    const keys = await fixture.list(`/agents/${id}/keys`)
    assert.deepEqual(
      keys.map(({ revoked_at: revoked }) => revoked),
      [null, null],
      'the file gives no list of keys',
    )
    const last = await fixture.applied(less.replace('        documents:', '        keys: [{name: website}]\n        documents:'), '--prune')
    assert.match(last.stdout, /^- {5}key reports \(key_\w+, will be revoked\)\n/m)
    assert.match(last.stdout, /^Revoked key reports of Support \(key_\w+\)\n/m)
    const revoked = (await fixture.list(`/agents/${id}/keys`)).filter(({ revoked_at: at }) => at !== null)
    assert.deepEqual(
      revoked.map(({ name }) => name),
      ['reports'],
    )
    assert.ok(await fixture.one('/agents', 'Another'))
    // A revoked key counts as missing: its name creates a new one.
    const again = await fixture.applied(less.replace('        documents:', '        keys: [{name: reports}]\n        documents:'))
    assert.match(again.stdout, /^Created key reports of Support \(key_\w+\)\nsvc_live_\S+\n$/m)
    assert.match(again.stderr, /^API key \(shown only once\):\n$/)
  })

  test('two objects with one name are refused with their ids; id: selects one and can rename it', async () => {
    const first = await app.made('POST', '/owners', { name: 'Twin' })
    const second = await app.made('POST', '/owners', { name: 'Twin' })
    fixture.write('agents.yaml', 'owners:\n  - name: Twin\n')
    const refused = await fixture.apply()
    assert.equal(refused.code, 2)
    assert.match(
      refused.stderr,
      new RegExp(`agents\\.yaml:2:5: the server has 2 owners named Twin: ${second.id}, ${first.id}\\. Specify one of them, such as id: `),
    )
    const named = await fixture.applied(`owners:\n  - {id: ${first.id}, name: Twin One}\n  - {id: ${second.id}, name: Twin}\n`)
    assert.match(named.stdout, /^~ owner Twin One\n {6}name: Twin → Twin One\n/)
    assert.equal((await app.made('GET', `/owners/${first.id}`)).name, 'Twin One')
    fixture.write('agents.yaml', 'owners:\n  - {id: own_nobody, name: Twin}\n')
    assert.match((await fixture.apply()).stderr, /agents\.yaml:2:5: there is no owner with the ID own_nobody;/)
  })

  test('several files and stdin are one declaration, with owners of the same name merged', async () => {
    const one = fixture.write('one.yaml', 'owners:\n  - name: Shared\n    agents:\n      - {name: A, model: demo/demo, system_prompt: a}\n')
    const two = JSON.stringify({ owners: [{ name: 'Shared', agents: [{ name: 'B', model: 'demo/demo', system_prompt: 'b' }] }] })
    const ran = await runCommand(['apply', '-f', one, '-f', '-'], fixture.environment(), two)
    assert.equal(ran.code, 0, ran.stderr)
    const { id } = await fixture.one('/owners', 'Shared')
    for (const name of ['A', 'B']) assert.equal((await fixture.one('/agents', name)).owner_id, id)
  })

  test('parameters are compared as the JSON that is sent', async () => {
    const declared = `
owners:
  - name: Shared
    agents:
      - name: D
        model: demo/demo
        system_prompt: d
        tools:
          - {type: http, name: t, description: d, method: GET, url: "https://e.com", parameters: {type: object, properties: {x: {type: number, minimum: -0}}}}
`
    await fixture.applied(declared)
    assert.match((await fixture.applied(declared)).stdout, /^No changes\./)
  })

  test('the price of a tool call is set, changed and removed, and is the same in any notation', async () => {
    const declared = (now: string, search: string): string => `owners:
  - name: Priced
    agents:
      - name: Priced tools
        model: demo/demo
        system_prompt: d
        tools:
          - {type: builtin, name: now${now}}
          - {type: http, name: order, description: d, method: GET, url: "https://e.com", parameters: {type: object}${search}}
`
    const prices = async () => ((await fixture.one('/agents', 'Priced tools')).tools as Json[]).map((tool) => tool['price_usd'])
    await fixture.applied(declared('', ', price_usd: "0.01"'))
    assert.deepEqual(await prices(), ['0.00000000', '0.01000000'])
    assert.match((await fixture.applied(declared(', price_usd: "0"', ', price_usd: "0.010"'))).stdout, /^No changes\./)
    const changed = await fixture.applied(declared(', price_usd: "0.00000002"', ', price_usd: "0.02"'))
    assert.match(changed.stdout, /price_usd/)
    assert.deepEqual(await prices(), ['0.00000002', '0.02000000'])
    await fixture.applied(declared('', ''))
    assert.deepEqual(await prices(), ['0.00000000', '0.00000000'])
    fixture.write('agents.yaml', declared('', ', price_usd: "-1"'))
    const refused = await fixture.apply()
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /price_usd/)
  })

  test('an existing file is never overwritten, and a key whose file is missing is reported', async () => {
    const declared = (file: string) => `owners: [{name: Shared, agents: [{name: B, keys: [{name: mine, secret_file: ${file}}]}]}]`
    fixture.write('taken.key', 'another')
    fixture.write('agents.yaml', declared('taken.key'))
    const taken = await fixture.apply()
    assert.deepEqual(
      [taken.code, /cannot create key mine of B: .*taken\.key exists, and is never overwritten/.test(taken.stderr)],
      [2, true],
    )
    fixture.write('agents.yaml', declared('no-folder/mine.key'))
    assert.match((await fixture.apply()).stderr, /the folder .*no-folder does not exist/)
    // What a run that was killed at this moment leaves.
    chmodSync(fixture.write('empty.key', ''), 0o644)
    await fixture.applied(declared('empty.key'))
    assert.match(readFileSync(join(fixture.folder, 'empty.key'), 'utf8'), /^svc_live_\S+\n$/)
    assert.equal(statSync(join(fixture.folder, 'empty.key')).mode & 0o777, 0o600)
    const lost = await fixture.applied(declared('elsewhere.key'))
    assert.match(lost.stdout, /^No changes\./)
    assert.match(lost.stderr, /^The secret of key mine of B is not in .*elsewhere\.key\..* npx --no-install turnkeep key rotate key_\w+ > /)
  })
})
