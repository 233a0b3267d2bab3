/** The price of a tool's calls. Only operators of the whole installation set prices. */
import { TextInput } from '@mantine/core'
import type { TextInputProps } from '@mantine/core'
import { useMaySetPrices } from '../../../api/session.ts'

/** `of`: which calls have this price. */
export function PricePerCall({ of, ...field }: { of: string } & TextInputProps) {
  if (!useMaySetPrices()) return null
  return (
    <TextInput
      label="Price per call"
      description={`USD that the owner is charged for each call ${of}. Empty: free.`}
      inputMode="decimal"
      leftSection="$"
      autoComplete="off"
      {...field}
    />
  )
}
