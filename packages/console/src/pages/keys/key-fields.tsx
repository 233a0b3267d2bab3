/** The fields of a new or an existing key. */
import { Group, NumberInput, Radio, Stack, Switch, Text, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { maxExternalUserId, maxName, maxRequests, maxWindowSeconds } from './key-form.ts'
import type { KeyForm } from './key-form.ts'

export function KeyFields({ form }: { form: UseFormReturnType<KeyForm> }) {
  return (
    <Stack>
      <TextInput
        label="Name"
        description="Who uses the key, such as “Acme’s server”. Optional."
        maxLength={maxName}
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
            description="Can send messages, which are charged to the owner, and read the conversations of this key."
          />
          <Radio
            value="read-only"
            label="Read-only"
            description="Can read the conversations of this key. Messages are rejected with 403 permission_denied."
          />
        </Stack>
      </Radio.Group>
      <Group align="flex-start" grow preventGrowOverflow={false}>
        <NumberInput
          label="Max requests per window"
          allowDecimal={false}
          allowNegative={false}
          min={1}
          max={maxRequests}
          clampBehavior="none"
          thousandSeparator=","
          required
          key={form.key('limit')}
          {...form.getInputProps('limit')}
        />
        <NumberInput
          label="Window (seconds)"
          allowDecimal={false}
          allowNegative={false}
          min={1}
          max={maxWindowSeconds}
          clampBehavior="none"
          thousandSeparator=","
          required
          key={form.key('windowSeconds')}
          {...form.getInputProps('windowSeconds')}
        />
      </Group>
      <Text size="sm" c="dimmed">
        Requests over the limit are rejected with 429 until the window ends. The limit protects against runaway programs; spending is
        limited by the owner’s balance.
      </Text>
      <TextInput
        label="Default end user ID"
        description="The end user of requests that name none, for single-user tools that use the OpenAI endpoints or MCP. Optional."
        maxLength={maxExternalUserId}
        autoComplete="off"
        key={form.key('defaultUser')}
        {...form.getInputProps('defaultUser')}
      />
      <Switch
        label="MCP"
        description="The key can call the agent as an MCP server."
        key={form.key('mcp')}
        {...form.getInputProps('mcp', { type: 'checkbox' })}
      />
    </Stack>
  )
}
