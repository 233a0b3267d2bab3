/** The steps of a turn: each answer of the model, and the tool calls it requested with their results. */
import { Badge, Box, Code, Group, Stack, Text, Title } from '@mantine/core'
import type { TurnWithSteps } from '../api/types.ts'
import { gatherSteps } from './gather-steps.ts'
import type { StepCall } from './gather-steps.ts'
import { writeCount, writeMs } from './measures.ts'

export function TurnSteps({ steps }: { steps: TurnWithSteps['steps'] }) {
  const gathered = gatherSteps(steps)
  return (
    <Stack gap="xs">
      <Title order={3} size="h5">
        Steps
      </Title>
      {gathered.length === 0 ? (
        <Text size="sm" c="dimmed">
          No steps stored. The last step of a turn is not stored, and the other steps are deleted after 30 days.
        </Text>
      ) : (
        <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
          {gathered.map(({ run, step, model, calls }) => (
            <Box component="li" key={`${run}-${step}`}>
              <Group gap="xs">
                <Text size="sm" fw={600}>
                  Step {step}
                  {run > 1 ? ` (run ${run})` : ''}
                </Text>
                {model ? (
                  <Text size="xs" c="dimmed" className="figures">
                    {writeCount(model.usage.prompt_tokens)} tokens in, {writeCount(model.usage.completion_tokens)} out
                    {model.usage.estimated ? ' (estimated)' : ''}
                  </Text>
                ) : null}
              </Group>
              {model && model.text !== '' ? (
                <Text size="sm" className="as-written" lineClamp={4}>
                  {model.text}
                </Text>
              ) : null}
              {calls.map((call) => (
                <Call key={call.part} call={call} />
              ))}
            </Box>
          ))}
        </Stack>
      )}
    </Stack>
  )
}

const words = {
  done: { word: 'Succeeded', color: 'teal' },
  error: { word: 'Error', color: 'red' },
  unknown: { word: 'Outcome unknown', color: 'yellow' },
  asked: { word: 'Not called', color: 'gray' },
} as const

function Call({ call }: { call: StepCall }) {
  const { word, color } = words[call.outcome]
  return (
    <Box mt={4} role="group" aria-label={`Tool call ${call.name}`}>
      <Group gap="xs">
        <Text size="sm" ff="monospace">
          {call.name}
        </Text>
        <Badge size="sm" variant="outline" color={color}>
          {word}
        </Badge>
        {call.ms === null ? null : (
          <Text size="xs" c="dimmed" className="figures">
            {writeMs(call.ms)}
          </Text>
        )}
      </Group>
      <Box component="details" mt={4}>
        <Text component="summary" size="sm">
          Arguments and result
        </Text>
        <Text size="xs" mt={4}>
          Arguments
        </Text>
        <Code block className="as-written" tabIndex={0} role="region" aria-label={`Arguments of ${call.name}`}>
          {readable(call.arguments)}
        </Code>
        <Text size="xs" mt={4}>
          {call.outcome === 'error' ? 'Error returned to the model' : 'Result returned to the model'}
        </Text>
        <Code block className="as-written" tabIndex={0} role="region" aria-label={`Result of ${call.name}`}>
          {call.result === null ? 'None' : readable(call.result)}
        </Code>
      </Box>
    </Box>
  )
}

/** JSON with indentation, anything else unchanged. */
function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
