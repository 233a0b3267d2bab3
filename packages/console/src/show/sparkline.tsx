/** A line of values without axes, for a row of a table. The figures beside it say the same in words. */
const [width, height, inset] = [96, 24, 2]

export function Sparkline({ values, bad = false }: { values: readonly number[]; bad?: boolean }) {
  const most = Math.max(...values, 1e-9)
  const step = (width - 2 * inset) / Math.max(1, values.length - 1)
  const points = values.map((value, index) => {
    const y = height - inset - (value / most) * (height - 2 * inset)
    return `${(inset + index * step).toFixed(1)},${y.toFixed(1)}`
  })
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true" className="sparkline">
      <polyline
        points={points.join(' ')}
        fill="none"
        stroke={bad ? 'var(--tk-bad)' : 'var(--tk-accent)'}
        strokeWidth="1.5"
        strokeLinejoin="round"
      />
    </svg>
  )
}
