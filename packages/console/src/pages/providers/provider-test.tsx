/** One small call to a provider and its result: its duration, or the provider's own words. */
import { Alert, Box, Button, Group, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { call, segment } from '../../api/client.ts'
import type { Provider, ProviderTest as Tested } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { writeMs } from '../../show/measures.ts'
import { ModelInput } from '../../show/model-input.tsx'

/** `focused`: the element that was here before had the focus, so the button gets it. */
type ProviderTestProps = { provider: Provider; focused?: boolean; onTested?: (test: Tested) => void }

export function ProviderTest({ provider, focused = false, onTested }: ProviderTestProps) {
  const [model, setModel] = useState('')
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (focused) button.current?.focus()
  }, [focused])
  const test = useMutation({
    mutationFn: (modelId: string) =>
      call<Tested>(`/providers/${segment(provider.id)}/test`, { method: 'POST', body: modelId === '' ? {} : { model: modelId } }),
    ...(onTested ? { onSuccess: onTested } : {}),
  })
  return (
    <Stack gap="sm">
      <Group align="flex-start" gap="sm">
        <Box flex="1 1 240px">
          <ModelInput
            label="Model to test"
            description="Optional. Without a model, only the base URL and the API key are tested."
            provider={provider.name}
            value={model}
            onChange={setModel}
          />
        </Box>
        <Button ref={button} mt={44} variant="default" loading={test.isPending} onClick={() => test.mutate(model.trim())}>
          Test provider
        </Button>
      </Group>
      <div aria-live="polite">
        {test.isPending ? <Text size="sm">Testing {provider.name}. This can take up to 20 seconds…</Text> : null}
        {test.data && !test.isPending ? <TestResult provider={provider} test={test.data} /> : null}
      </div>
      <FailureNote error={test.isPending ? null : test.error} title="Could not run the test" />
    </Stack>
  )
}

function TestResult({ provider, test }: { provider: Provider; test: Tested }) {
  const latency = writeMs(test.latency_ms)
  if (test.ok)
    return (
      <Alert color="teal" title={`${provider.name} responded in ${latency}`}>
        {test.model ? `The model ${test.model} works.` : 'The base URL and the API key work. Enter a model to test it too.'}
      </Alert>
    )
  return (
    <Alert color="red" title={`The test of ${provider.name} failed after ${latency}`}>
      <Text size="sm" className="as-written">
        {test.error}
      </Text>
      <Text size="sm" mt={4}>
        Check the API key{test.model ? `, the model ${test.model},` : ''} and the base URL{provider.base_url ? ` ${provider.base_url}` : ''}
        .
      </Text>
    </Alert>
  )
}
