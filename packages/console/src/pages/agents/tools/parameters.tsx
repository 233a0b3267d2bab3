/** The JSON Schema of a tool's arguments, as the model sees it. Closed at first, because it may be long. */
import { Box, Code } from '@mantine/core'

export function Parameters({ of, schema }: { of: string; schema: object }) {
  return (
    <details>
      <Box component="summary" fz="xs" aria-label={`Parameters of ${of}`}>
        Parameters
      </Box>
      <Box component="section" aria-label={`JSON Schema of ${of}`} tabIndex={0} mah={320} style={{ overflow: 'auto' }}>
        <Code block className="as-written">
          {JSON.stringify(schema, undefined, 2)}
        </Code>
      </Box>
    </details>
  )
}
