/** The state of an operator, and how it signs in. */
import { Badge } from '@mantine/core'
import type { Operator } from '../../api/types.ts'

const states = {
  invited: { word: 'Invited', color: 'blue' },
  active: { word: 'Active', color: 'teal' },
  disabled: { word: 'Disabled', color: 'gray' },
} as const

export function OperatorState({ state }: Pick<Operator, 'state'>) {
  return <Badge color={states[state].color}>{states[state].word}</Badge>
}

export function waysOf({ has_password: hasPassword, passkeys, has_company_account: hasCompany }: Operator): string {
  const ways = [
    hasPassword ? 'password' : null,
    passkeys === 0 ? null : passkeys === 1 ? 'passkey' : `${passkeys} passkeys`,
    hasCompany ? 'company account' : null,
  ].filter((way) => way !== null)
  const text = ways.join(', ')
  return text === '' ? 'Nothing yet' : `${text[0]!.toUpperCase()}${text.slice(1)}`
}
