/** The values of the key form, their validation, and their conversion to and from the API. */
import type { Key } from '../../api/types.ts'
import { refusalOf } from '../../show/refusal.ts'
import type { Refusal } from '../../show/refusal.ts'

export type KeyForm = {
  name: string
  permission: Key['permission']
  limit: number | string
  windowSeconds: number | string
  /** Empty for none. */
  defaultUser: string
  mcp: boolean
}

// The server's default, shown before it applies.
export const newKey: KeyForm = { name: '', permission: 'full', limit: 120, windowSeconds: 60, defaultUser: '', mcp: true }

// The limits of src/http/admin/keys.ts.
export const maxName = 200
export const maxRequests = 1_000_000
export const maxWindowSeconds = 86_400
export const maxExternalUserId = 255

export const formOf = ({ name, permission, rate_limit: rate, default_external_user_id: defaultUser, mcp }: Key): KeyForm => ({
  name: name ?? '',
  permission,
  limit: rate.limit,
  windowSeconds: rate.window_seconds,
  defaultUser: defaultUser ?? '',
  mcp,
})

export const isWhole = (value: number | string, least: number, most: number): boolean =>
  value !== '' && Number.isInteger(Number(value)) && Number(value) >= least && Number(value) <= most

export const validateKey = {
  limit: (value: number | string) => (isWhole(value, 1, maxRequests) ? null : 'Enter a whole number from 1 to 1,000,000.'),
  windowSeconds: (value: number | string) =>
    isWhole(value, 1, maxWindowSeconds) ? null : 'Enter a whole number from 1 to 86,400 (1 day).',
}

const rateOf = ({ limit, windowSeconds }: KeyForm): Key['rate_limit'] => ({ limit: Number(limit), window_seconds: Number(windowSeconds) })

/** The request body for a new key. */
export function creationOf(form: KeyForm): object {
  const name = form.name.trim()
  return {
    ...(name === '' ? {} : { name }),
    permission: form.permission,
    rate_limit: rateOf(form),
    ...(form.defaultUser === '' ? {} : { default_external_user_id: form.defaultUser }),
    mcp: form.mcp,
  }
}

/** Returns only what differs, so that the audit log names what was changed. Undefined if nothing differs. */
export function changeOf(key: Key, form: KeyForm): object | undefined {
  const name = form.name.trim() === '' ? null : form.name.trim()
  const rate = rateOf(form)
  const user = form.defaultUser === '' ? null : form.defaultUser
  const change = {
    ...(name === key.name ? {} : { name }),
    ...(form.permission === key.permission ? {} : { permission: form.permission }),
    ...(rate.limit === key.rate_limit.limit && rate.window_seconds === key.rate_limit.window_seconds ? {} : { rate_limit: rate }),
    ...(user === key.default_external_user_id ? {} : { default_external_user_id: user }),
    ...(form.mcp === key.mcp ? {} : { mcp: form.mcp }),
  }
  return Object.keys(change).length === 0 ? undefined : change
}

/** The fields of the form by their paths in the API. */
export const fieldsOfKey = {
  name: 'name',
  permission: 'permission',
  'rate_limit.limit': 'limit',
  'rate_limit.window_seconds': 'windowSeconds',
  default_external_user_id: 'defaultUser',
  mcp: 'mcp',
} as const satisfies Record<string, keyof KeyForm>

export const refusalOfKey = (error: unknown): Refusal<keyof typeof fieldsOfKey> =>
  refusalOf(error, Object.keys(fieldsOfKey) as (keyof typeof fieldsOfKey)[])

/** The shown name of a key without a name. */
export const calledOf = ({ name, key_id: keyId }: Pick<Key, 'name' | 'key_id'>): string => name ?? keyId
