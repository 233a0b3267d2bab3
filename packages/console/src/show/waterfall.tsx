/** The spans of a trace as bars on one time axis. A list in which one is selected, with the mouse or the arrow keys. */
import { useId, useRef } from 'react'
import type { CSSProperties, KeyboardEvent, MouseEvent } from 'react'
import { writeMs } from './measures.ts'
import { placeOn } from './trace-layout.ts'
import type { Axis, Row } from './trace-layout.ts'
import classes from './trace.module.css'

type WaterfallProps = {
  rows: readonly Row[]
  axis: Axis | null
  selected: string | undefined
  onSelect(id: string): void
  label?: string
}

export function Waterfall({ rows, axis, selected, onSelect, label = 'Spans' }: WaterfallProps) {
  const prefix = useId()
  const list = useRef<HTMLDivElement>(null)
  const at = rows.findIndex(({ id }) => id === selected)
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key]
    if (to === undefined) return
    event.preventDefault()
    const row = rows[Math.min(rows.length - 1, Math.max(0, to))]
    if (!row) return
    onSelect(row.id)
    list.current?.querySelector(`[data-row="${CSS.escape(row.id)}"]`)?.scrollIntoView({ block: 'nearest' })
  }
  const onClick = ({ target }: MouseEvent): void => {
    const id = target instanceof Element ? target.closest('[data-row]')?.getAttribute('data-row') : null
    if (id) onSelect(id)
  }
  return (
    <div className={classes['waterfall']}>
      <div className={`${classes['line']} ${classes['axis']} figures`} aria-hidden="true">
        <span />
        <div className={classes['ticks']}>
          {axis?.ticks.map(({ ms, at: place }, index) => (
            <span
              key={ms}
              className={classes['tick']}
              style={{ left: `${place * 100}%` }}
              data-first={index === 0 && place < 0.05 ? '' : undefined}
              data-last={place > 0.95 ? '' : undefined}
            >
              {ms === 0 ? '0' : writeMs(ms)}
            </span>
          ))}
        </div>
        <span />
      </div>
      <div
        ref={list}
        role="listbox"
        tabIndex={0}
        aria-label={label}
        aria-activedescendant={at < 0 ? undefined : `${prefix}${at}`}
        className={classes['rows']}
        onKeyDown={onKeyDown}
        onClick={onClick}
      >
        {rows.map((row, index) => (
          <Bar key={row.id} id={`${prefix}${index}`} row={row} axis={axis} isSelected={row.id === selected} />
        ))}
      </div>
    </div>
  )
}

const colors = { admission: 'system', retrieval: 'retrieval', model_call: 'model', tool_call: 'tool', settlement: 'system' } as const
const words = { ok: '', failed: 'failed', cancelled: 'cancelled', running: 'running', unknown: 'outcome unknown' }

type BarProps = { id: string; row: Row; axis: Axis | null; isSelected: boolean }

function Bar({ id, row, axis, isSelected }: BarProps) {
  const color = row.kind === 'span' ? colors[row.span.type] : 'system'
  const took = tookOf(row)
  return (
    <div
      id={id}
      role="option"
      aria-selected={isSelected}
      data-row={row.id}
      data-kind={row.kind}
      data-status={row.status}
      className={`${classes['line']} ${classes['row']}`}
      style={{ '--color': `var(--tk-${color})` } as CSSProperties}
    >
      <span className={classes['name']}>
        <span className={classes['mark']} aria-hidden="true" />
        <span title={row.name}>{row.name}</span>
      </span>
      <span className={classes['track']} aria-hidden="true">
        {axis?.ticks.map(({ ms, at }) => (
          <span key={ms} className={classes['grid']} style={{ left: `${at * 100}%` }} />
        ))}
        {axis?.segments
          .filter(({ isShortened }) => isShortened)
          .map(({ startMs, from, to }) => (
            <span key={startMs} className={classes['cut']} style={{ left: `${from * 100}%`, width: `${(to - from) * 100}%` }} />
          ))}
        {axis ? <Drawn row={row} axis={axis} /> : null}
      </span>
      <span className={classes['took']}>
        {took}
        <span className="for-readers-only"> {words[row.status]}</span>
      </span>
    </div>
  )
}

function Drawn({ row, axis }: { row: Row; axis: Axis }) {
  if (row.startMs === null) return null
  const from = placeOn(axis, row.startMs)
  const to = placeOn(axis, row.endMs ?? row.startMs)
  const first = row.kind === 'span' ? row.firstTextMs : null
  const wait = first === null || to <= from ? 0 : (placeOn(axis, first) - from) / (to - from)
  return (
    <span className={classes['bar']} style={{ left: `min(${from * 100}%, 100% - 3px)`, width: `${(to - from) * 100}%` }}>
      {wait > 0 && wait <= 1 ? <span className={classes['wait']} style={{ width: `${wait * 100}%` }} /> : null}
    </span>
  )
}

function tookOf(row: Row): string {
  if (row.kind === 'span' && row.span.type === 'settlement') return ''
  return row.startMs === null || row.endMs === null ? '–' : writeMs(row.endMs - row.startMs)
}
