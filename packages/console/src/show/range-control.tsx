/** Chooses the time range of a page. On a phone the choices scroll sideways. */
import './panel.css'
import { Box, SegmentedControl } from '@mantine/core'

type RangeControlProps<Name extends string> = {
  value: Name
  choices: readonly { value: Name; label: string }[]
  onChange: (value: Name) => void
}

export function RangeControl<Name extends string>({ value, choices, onChange }: RangeControlProps<Name>) {
  return (
    <Box className="range-control">
      <SegmentedControl
        aria-label="Time range"
        size="xs"
        value={value}
        data={[...choices]}
        onChange={(chosen) => onChange(chosen as Name)}
      />
    </Box>
  )
}
