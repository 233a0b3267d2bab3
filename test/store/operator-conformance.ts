/** What every store must do for operators and their sessions (`operator.change`), case by case; each backend's test file runs all of it. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type { Role } from '../../src/operators/principal.ts'
import type { OperatorChange } from '../../src/store/queries/operators.ts'
import type { Store } from '../../src/store/store.ts'
import type { Check } from './conformance.ts'

const hour = 60 * 60 * 1000
type Given = { role?: Role; ownerId?: string | null }

/** An operator who has accepted the invitation. */
async function makeOperator(store: Store, { role = 'admin', ownerId = null }: Given = {}): Promise<string> {
  const id = `opr_${randomUUID()}`
  const invitation = { digest: randomBytes(32), lifetimeMs: hour }
  const given = { id, email: `${id}@acme.example`, name: 'Ada', role, permissions: [], ownerId, invitation }
  assert.equal((await store.write.createOperator(given)).kind, 'created')
  assert.ok(await store.write.acceptInvitation({ digest: invitation.digest, name: null, passwordHash: 'scrypt' }))
  return id
}

async function signIn(store: Store, operatorId: string): Promise<Uint8Array | undefined> {
  const digest = randomBytes(32)
  const common = { method: 'password', address: null, userAgent: null, lifetimeMs: hour, replaces: null } as const
  const { updatedAt } = (await store.read.findOperator(operatorId))!
  return (await store.write.openSession({ id: `ses_${randomUUID()}`, digest, operatorId, checkedAt: updatedAt, ...common })) && digest
}
const isSignedIn = async (store: Store, digest: Uint8Array): Promise<boolean> =>
  (await store.read.findSession(digest, randomBytes(32))) !== undefined

export function operatorConformance(check: Check): void {
  check('operator.change: each change of what an operator may do ends its sessions, and a new name does not', async (store) => {
    await makeOperator(store)
    const owner = await store.write.createOwner({ id: `own_${randomUUID()}`, name: 'Acme', credit: undefined })
    const changes: [OperatorChange, boolean][] = [
      [{ name: 'Ada L' }, true],
      [{ role: 'admin' }, true],
      [{ role: 'viewer' }, false],
      [{ permissions: ['conversations'] }, false],
      [{ ownerId: owner.id }, false],
      [{ enabled: false }, false],
    ]
    for (const [change, stays] of changes) {
      const id = await makeOperator(store)
      const [one, other] = [(await signIn(store, id))!, (await signIn(store, await makeOperator(store)))!]
      assert.equal((await store.write.changeOperator(id, change)).kind, 'changed')
      assert.deepEqual([await isSignedIn(store, one), await isSignedIn(store, other)], [stays, true], JSON.stringify(change))
    }
    const id = await makeOperator(store)
    const session = (await signIn(store, id))!
    assert.equal((await store.write.removeOperator(id)).kind, 'removed')
    assert.equal(await isSignedIn(store, session), false)
  })

  check('operator.single-use: of many uses of one state at the same time one is accepted, and none after its time', async (store) => {
    for (let round = 0; round < 5; round++) {
      const state = { digest: randomBytes(32), expiresAt: (await store.read.storeTime()) + hour }
      const uses = await Promise.all(Array.from({ length: 10 }, () => store.write.useSignInState(state)))
      assert.deepEqual(uses.toSorted(), ['accepted', ...Array.from({ length: 9 }, () => 'used')])
      assert.equal(await store.write.useSignInState(state), 'used')
      assert.equal(await store.write.useSignInState({ digest: randomBytes(32), expiresAt: await store.read.storeTime() }), 'expired')
    }
  })

  check('operator.change: a sign-in during a disabling leaves no session behind, however they are interleaved', async (store) => {
    await makeOperator(store)
    for (let round = 0; round < 10; round++) {
      const id = await makeOperator(store)
      const [session] = await Promise.all([signIn(store, id), store.write.changeOperator(id, { enabled: false })])
      assert.equal(await signIn(store, id), undefined)
      assert.equal((await store.write.changeOperator(id, { enabled: true })).kind, 'changed')
      assert.ok(!session || !(await isSignedIn(store, session)), 'enabled again, an earlier session is back')
    }
  })

  check('operator.change: of admins who remove each other at the same time, one always stays', async (store) => {
    let survivor = await makeOperator(store)
    for (let round = 0; round < 5; round++) {
      const ids = [survivor, ...(await Promise.all([1, 2, 3].map(() => makeOperator(store))))]
      const outcomes = await Promise.all([
        ...ids.map((id) => store.write.removeOperator(id)),
        ...ids.map((id) => store.write.changeOperator(id, { role: 'editor' })),
        ...ids.map((id) => store.write.changeOperator(id, { enabled: false })),
      ])
      const found = await Promise.all(ids.map((id) => store.read.findOperator(id)))
      const admins = found.filter((operator) => operator?.role === 'admin' && operator.state === 'active')
      assert.equal(admins.length, 1)
      assert.ok(outcomes.some(({ kind }) => kind === 'last_admin'))
      survivor = admins[0]!.id
    }
  })

  check('operator.change: an admin who is restricted to an owner, invited or disabled is not the one who stays', async (store) => {
    const last = await makeOperator(store)
    const owner = await store.write.createOwner({ id: `own_${randomUUID()}`, name: 'Acme', credit: undefined })
    await makeOperator(store, { ownerId: owner.id })
    await makeOperator(store, { role: 'editor' })
    const invitation = { digest: randomBytes(32), lifetimeMs: hour }
    await store.write.createOperator({
      id: 'opr_invited',
      email: 'i@acme.example',
      name: 'I',
      role: 'admin',
      permissions: [],
      ownerId: null,
      invitation,
    })
    for (const change of [{ role: 'viewer' }, { ownerId: owner.id }, { enabled: false }] as OperatorChange[])
      assert.deepEqual(await store.write.changeOperator(last, change), { kind: 'last_admin' })
    assert.deepEqual(await store.write.removeOperator(last), { kind: 'last_admin' })
    assert.equal((await store.write.changeOperator(last, { name: 'x', permissions: ['conversations'] })).kind, 'changed')
  })

  check('operator.invitation: of many links that are created for one operator at the same time, one is accepted', async (store) => {
    const id = await makeOperator(store)
    const digests = Array.from({ length: 20 }, () => randomBytes(32))
    const invited = await Promise.all(digests.map((digest) => store.write.inviteOperator(id, { digest, lifetimeMs: hour })))
    assert.ok(invited.every((one) => one !== undefined))
    const found = await Promise.all(digests.map((digest) => store.read.findInvitation(digest)))
    assert.equal(found.filter((one) => one !== undefined).length, 1)
  })

  check('operator.invitation: of many uses of one link at the same time, and of those after it, one is accepted', async (store) => {
    const id = await makeOperator(store)
    const digest = randomBytes(32)
    assert.ok(await store.write.inviteOperator(id, { digest, lifetimeMs: hour }))
    const accept = () => store.write.acceptInvitation({ digest, name: null, passwordHash: null })
    const accepted = await Promise.all(Array.from({ length: 10 }, accept))
    assert.deepEqual([...accepted, await accept()].filter((one) => one !== undefined).length, 1)
  })
}
