/** Commands take the name of an owner, an agent, an API key, a provider or a document wherever they take its ID. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

let app: TestApp
let owner: Json
let agent: Json
before(async () => {
  app = await startTestApp()
  owner = await app.made('POST', '/owners', { name: 'Acme Ltd', balance_usd: '5.00' })
  agent = await app.made('POST', '/agents', { owner_id: owner.id, name: 'Support', system_prompt: 's', model: 'demo/demo' })
})
after(() => app.close())

const turnkeep = (...args: string[]): Promise<Ran> => runCommand(args, { TURNKEEP_PUBLIC_URL: app.url, TURNKEEP_ADMIN_TOKEN: adminToken })

async function json(...args: string[]): Promise<Json> {
  const ran = await turnkeep(...args, '--json')
  assert.equal(ran.code, 0, ran.stderr)
  return JSON.parse(ran.stdout) as Json
}

describe('names', () => {
  test('each command of an owner, an agent, a key and a document takes the name', async () => {
    assert.equal((await json('owner', 'show', 'Acme Ltd')).id, owner.id)
    assert.equal((await json('ledger', 'add', 'Acme Ltd', '1.00')).owner_id, owner.id)
    assert.equal((await json('ledger', 'list', 'Acme Ltd')).data.length, 2)
    assert.equal((await json('agent', 'show', 'Support')).id, agent.id)
    assert.equal((await json('agent', 'update', 'Support', '--temperature', '0.5')).version, 2)
    assert.equal((await json('agent', 'rollback', 'Support', '1')).version, 3)
    assert.equal((await json('agent', 'versions', 'Support')).data.length, 3)
    assert.equal((await json('agent', 'disable', 'Support')).enabled, false)
    assert.equal((await json('agent', 'enable', 'Support')).enabled, true)
    assert.deepEqual((await json('agent', 'tools', 'Support')).data, [])
    assert.equal(
      (await json('agent', 'create', '--owner', 'Acme Ltd', '--name', 'Other', '--model', 'demo/demo', '--system-prompt', 's')).owner_id,
      owner.id,
    )
    const key = await json('key', 'create', 'Support', '--name', 'website')
    assert.equal((await json('key', 'list', 'Support')).data[0].id, key.id)
    assert.equal((await json('key', 'update', 'website', '--permission', 'read-only')).id, key.id)
    assert.equal((await json('key', 'rotate', key.key_id)).id, key.id)
    assert.equal((await turnkeep('key', 'revoke', 'website')).code, 0)
    assert.match((await turnkeep('key', 'revoke', 'website')).stderr, /^turnkeep: no API key is named website\. /)
    const document = await app.made('POST', `/agents/${agent.id}/documents`, { title: 'Returns', text: 'Thirty days.' })
    assert.equal((await json('document', 'show', 'Support', 'Returns')).id, document.id)
    assert.equal((await turnkeep('document', 'delete', 'Support', 'Returns')).code, 0)
    assert.equal((await json('owner', 'rename', 'Acme Ltd', 'Acme GmbH')).id, owner.id)
    assert.equal((await json('owner', 'rename', 'Acme GmbH', 'Acme Ltd')).id, owner.id)
  })

  test('an unknown name is an error with the nearest name and a list; an ambiguous one lists the IDs', async () => {
    const typo = await turnkeep('agent', 'show', 'Suport')
    assert.equal(typo.code, 1)
    assert.match(
      typo.stderr,
      new RegExp(
        `^turnkeep: no agent is named Suport: did you mean Support\\? Specify the ID of one of:\n {2}ID .*\n[^]*${agent.id} +demo/demo +Support\n`,
      ),
    )
    const [one, two] = [await app.made('POST', '/owners', { name: 'Twin' }), await app.made('POST', '/owners', { name: 'Twin' })]
    const twice = await turnkeep('owner', 'show', 'Twin')
    assert.equal(twice.code, 1)
    assert.match(
      twice.stderr,
      new RegExp(
        `^turnkeep: 2 owners are named Twin\\. Specify the ID of one of:\n {2}ID +name\n {2}${two.id} +Twin\n {2}${one.id} +Twin\n$`,
      ),
    )
  })

  test('usage and the lists refuse a filter that does not exist, instead of printing zeros', async () => {
    assert.equal((await json('usage', '--owner', 'Acme Ltd')).totals.turns, 0)
    assert.equal((await json('usage', '--owner', owner.id, '--agent', 'Support')).totals.turns, 0)
    const oneOff = `${owner.id.slice(0, -1)}${owner.id.endsWith('0') ? '1' : '0'}`
    for (const [args, says] of [
      [['usage', '--owner', 'Acme'], /^turnkeep: no owner is named Acme/],
      [['usage', '--owner', 'Acme Ldt'], /^turnkeep: no owner is named Acme Ldt: did you mean Acme Ltd\?/],
      [
        ['usage', '--owner', oneOff],
        new RegExp(
          `^turnkeep: no owner has the ID ${oneOff}: did you mean ${owner.id}\\? To list them: npx --no-install turnkeep owner list\n$`,
        ),
      ],
      [['usage', '--agent', 'agt_nothing'], /^turnkeep: no agent has the ID agt_nothing\./],
      [['usage', '--key', 'key_nothing'], /^turnkeep: no API key has the ID key_nothing\./],
      [['conversation', 'list', '--agent', 'agt_nothing'], /^turnkeep: no agent has the ID agt_nothing\./],
      [['conversation', 'list', '--key', 'Nothing'], /^turnkeep: no API key is named Nothing/],
      [['turn', 'list', '--agent', 'Suport'], /^turnkeep: no agent is named Suport: did you mean Support\?/],
      [['turn', 'list', '--conversation', 'conv_nothing'], /^turnkeep: .*\(not_found, 404/],
    ] as [string[], RegExp][]) {
      const ran = await turnkeep(...args)
      assert.deepEqual([ran.code, ran.stdout], [1, ''], args.join(' '))
      assert.match(ran.stderr, says, args.join(' '))
    }
  })
})
