/**
 * The logo, drawn for this product: a T that is also the keep of a castle. Its three battlements are the three guarantees: answered once,
 * stored once, charged once. public/icon.svg is the same drawing.
 */
import { Text } from '@mantine/core'

function Mark({ size = 20 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" fill="currentColor" aria-hidden="true" style={{ flex: 'none' }}>
      <path d="M4 4h6v4h3V4h6v4h3V4h6v10H4zM11 16.5h10V24a4 4 0 0 0 4 4H7a4 4 0 0 0 4-4z" />
    </svg>
  )
}

/** The mark with the name. */
export function Logo({ size = 20 }: { size?: number }) {
  return (
    <span className="logo">
      <Mark size={size} />
      <Text span fw={650} fz={size * 0.8} lh={1}>
        Turnkeep
      </Text>
    </span>
  )
}
