/** Compares two texts line by line. Added and removed lines are marked by a sign, by color, and in words for screen readers. */
import { Box, Text } from '@mantine/core'
import { diffLines } from 'diff'
import classes from './text-diff.module.css'

// Lines shown around a change, as in patches.
const contextLines = 3
// Two prompts of the maximum size without common lines. Beyond it, both are shown completely, one after the other.
const patienceMs = 1_000

type Kind = 'same' | 'added' | 'removed'
/** `at`: the position of the line among all shown lines, used as its key. */
type Line = { at: number; text: string }
type Part = { kind: Kind; lines: Line[] }

const words = { same: 'Unchanged: ', added: 'Added: ', removed: 'Removed: ' }
const signs = { same: ' ', added: '+', removed: '−' }

export function TextDiff({ before, now, label }: { before: string; now: string; label: string }) {
  const parts = partsOf(before, now)
  return (
    <Box component="section" className={classes['diff']} aria-label={label} tabIndex={0}>
      {parts.map((part, index) => (
        <Lines key={part.lines[0]?.at} part={part} isFirst={index === 0} isLast={index === parts.length - 1} />
      ))}
    </Box>
  )
}

function Lines({ part: { kind, lines }, isFirst, isLast }: { part: Part; isFirst: boolean; isLast: boolean }) {
  const [head, tail] = [isFirst ? 0 : contextLines, isLast ? 0 : contextLines]
  const hidden = lines.length - head - tail
  if (kind !== 'same' || hidden < 2) return <Written kind={kind} lines={lines} />
  return (
    <>
      {head > 0 ? <Written kind={kind} lines={lines.slice(0, head)} /> : null}
      <Text size="xs" c="dimmed" className={classes['skipped']}>
        … {hidden.toLocaleString()} unchanged lines
      </Text>
      {tail > 0 ? <Written kind={kind} lines={lines.slice(-tail)} /> : null}
    </>
  )
}

function Written({ kind, lines }: Part) {
  const Tag = kind === 'added' ? 'ins' : kind === 'removed' ? 'del' : 'div'
  return (
    <Tag className={`${classes['lines']} ${classes[kind] ?? ''}`}>
      <span className="for-readers-only">{words[kind]}</span>
      {lines.map(({ at, text }) => (
        <span key={at} className={classes['line']}>
          <span aria-hidden="true" className={classes['sign']}>
            {signs[kind]}
          </span>
          <span>{text === '' ? '\u00a0' : text}</span>
        </span>
      ))}
    </Tag>
  )
}

function partsOf(before: string, now: string): Part[] {
  const found = diffLines(ended(before), ended(now), { timeout: patienceMs }) ?? [
    { value: before, removed: true, added: false },
    { value: now, removed: false, added: true },
  ]
  let at = 0
  return found.map(({ value, added, removed }) => ({
    kind: added ? 'added' : removed ? 'removed' : 'same',
    lines: value
      .replace(/\n$/, '')
      .split('\n')
      .map((text) => ({ at: at++, text })),
  }))
}

/** A last line with and without a line break is the same. */
const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)
