/** The fields of a key, the same where one is made and where one is changed. */
import { Group, NumberInput, Radio, Stack, Text, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { longestName, longestWindowSeconds, mostRequests } from './key-form.ts'
import type { KeyForm } from './key-form.ts'

export function KeyFields({ form }: { form: UseFormReturnType<KeyForm> }) {
  return (
    <Stack>
      <TextInput
        label="Name"
        description="Who has it, for example “Acme’s server”. May be left empty."
        maxLength={longestName}
        autoComplete="off"
        data-autofocus
        key={form.key('name')}
        {...form.getInputProps('name')}
      />
      <Radio.Group label="Permission" key={form.key('permission')} {...form.getInputProps('permission')}>
        <Stack gap="xs" mt={4}>
          <Radio
            value="full"
            label="Full"
            description="Sends messages, which the owner pays for, and reads the conversations of this key."
          />
          <Radio
            value="read-only"
            label="Read-only"
            description="Reads the conversations of this key. A message is answered with 403 permission_denied."
          />
        </Stack>
      </Radio.Group>
      <Group align="flex-start" grow preventGrowOverflow={false}>
        <NumberInput
          label="Requests"
          allowDecimal={false}
          allowNegative={false}
          min={1}
          max={mostRequests}
          clampBehavior="none"
          thousandSeparator=","
          required
          key={form.key('limit')}
          {...form.getInputProps('limit')}
        />
        <NumberInput
          label="Window in seconds"
          allowDecimal={false}
          allowNegative={false}
          min={1}
          max={longestWindowSeconds}
          clampBehavior="none"
          thousandSeparator=","
          required
          key={form.key('windowSeconds')}
          {...form.getInputProps('windowSeconds')}
        />
      </Group>
      <Text size="sm" c="dimmed">
        The key has so many requests in each window; what comes beyond them is answered with 429 until the window ends. It guards against a
        program that runs wild. What is spent is bounded by the owner’s balance.
      </Text>
    </Stack>
  )
}
