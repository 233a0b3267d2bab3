/** An owner, whose balance pays for the replies of its agents. */
import { id, orNull, text, time, usd } from './field.ts'
import type { Change, Fields, Resource } from './field.ts'

export const ownerFields = {
  id: { kind: id('own'), example: 'own_01jd3v9qk8x2m5n7p4r6t8w0ya' },
  name: {
    kind: text(1, 200),
    create: 'required',
    change: true,
    example: 'Example Shop',
    option: { flags: '--name <name>', says: 'New name', only: 'change' },
  },
  /** After the initial credit, only entries of the ledger change it. */
  balance: {
    kind: usd,
    name: 'balance_usd',
    create: 'optional',
    initial: 0n,
    example: '9.99961000',
    option: { flags: '--balance <usd>', says: 'Opening balance, such as 10.50 (default: 0)' },
  },
  held: { kind: usd, name: 'held_usd', example: '0.00000000' },
  unpaid: { kind: usd, name: 'unpaid_usd', example: '0.00039000' },
  available: { kind: usd, name: 'available_usd', column: null, example: '9.99922000' },
  /** `balance.low` is reported when the balance falls below it. Null: never. */
  lowBalance: {
    kind: orNull(usd),
    name: 'low_balance_usd',
    change: true,
    example: '5.00000000',
    option: {
      flags: '--low-balance <usd>',
      says: 'Report the balance as low when it falls below this (event balance.low)',
      no: 'Do not report a low balance',
    },
  },
  createdAt: { kind: time, example: '2026-11-21T09:00:00.000Z' },
} as const satisfies Fields

/** As it is stored. */
export type Owner = Omit<Resource<typeof ownerFields>, 'available'>
export type OwnerChange = Change<typeof ownerFields>
