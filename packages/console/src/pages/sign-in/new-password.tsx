/** The field for a new password. `email` is there for password managers, which store it as the name of the account. */
import { PasswordInput } from '@mantine/core'

type NewPasswordProps = {
  email: string
  value: string
  onChange: (value: string) => void
  label?: string
  required?: boolean
  error?: string | undefined
}

export function NewPassword({ email, value, onChange, label = 'Password', required = true, error }: NewPasswordProps) {
  return (
    <>
      <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
      <PasswordInput
        label={label}
        description="At least 12 characters. A sentence is easy to remember."
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        autoComplete="new-password"
        required={required}
        error={error}
        withAsterisk={false}
        visibilityToggleButtonProps={{ 'aria-label': 'Show password' }}
      />
    </>
  )
}
