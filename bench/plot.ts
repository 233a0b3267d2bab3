/**
 * A plot as SVG text: lines with the spread of each point, or groups of bars. Readable on a light and on a dark page: no background, lines
 * and letters in colors with contrast to both. Pure.
 */
import type { Plot } from './scenario.ts'
import { write } from './table.ts'

const size = { width: 720, height: 360 }
const frame = { left: 72, right: 24, top: 44, bottom: 76 }
const inner = { width: size.width - frame.left - frame.right, height: size.height - frame.top - frame.bottom }
const ink = '#808080'
// Distinguishable with any color blindness (after Okabe and Ito), and of medium lightness.
const colours = ['#0080d0', '#e07000', '#00a080', '#c060a0', '#a09000', '#808080']
const ticks = 5
// More labels would overlap.
const maxLabels = 20
// Slanted labels below the frame.
const spaceForWords = 70
// A bar that is wide enough has its value above it; every bar has it as its title.
const labelledWidth = 24
// The approximate width of a letter of 12 pixels, exact enough for a legend.
const letterWidth = 7

type Axis = { places: (string | number)[]; at: (x: string | number) => number }

export function svgOf(plot: Plot): string {
  const most = Math.max(...plot.series.flatMap(({ points }) => points.map(({ y }) => y.max)), 0)
  const top = roundUp(most)
  const y = (value: number): number => frame.top + inner.height * (1 - value / top)
  const places = [...new Set(plot.series.flatMap(({ points }) => points.map(({ x }) => x)))]
  // All distances are equal, because the number of callers doubles and quadruples.
  const below = places.some((x) => typeof x === 'string') ? spaceForWords : 0
  const axis: Axis = { places, at: (x) => frame.left + (inner.width * (places.indexOf(x) + 0.5)) / places.length }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height + below}" font-family="sans-serif" font-size="12" fill="${ink}">`,
    `<title>${escape(plot.title)}</title>`,
    text(size.width / 2, 18, plot.title, 'middle', 14),
    ...Array.from({ length: ticks + 1 }, (_, index) => gridLine((top * index) / ticks, y)),
    ...places.flatMap((x, index) => (index % Math.ceil(places.length / maxLabels) === 0 ? placeLabel(x, axis.at(x)) : [])),
    text(frame.left + inner.width / 2, frame.top + inner.height + 34, plot.x, 'middle'),
    `<text x="16" y="${frame.top + inner.height / 2}" text-anchor="middle" transform="rotate(-90 16 ${frame.top + inner.height / 2})">${escape(plot.y)}</text>`,
    ...(plot.kind === 'lines' ? lines(plot, axis, y) : bars(plot, axis, y)),
    ...legend(plot, size.height + below),
    '</svg>',
    '',
  ].join('\n')
}

function lines({ series }: Plot, { at }: Axis, y: (value: number) => number): string[] {
  return series.flatMap(({ name, points }, index) => [
    `<polyline fill="none" stroke="${colour(index)}" stroke-width="2" points="${points.map((point) => `${px(at(point.x))},${px(y(point.y.median))}`).join(' ')}"/>`,
    ...points.flatMap((point) => [whisker(at(point.x), y(point.y.min), y(point.y.max), colour(index)), dot(point, name, index)]),
  ])

  function dot(point: Plot['series'][number]['points'][number], name: string, index: number): string {
    const label = `<title>${escape(`${name}, ${point.x}: ${write(point.y.median)}`)}</title>`
    return `<circle cx="${px(at(point.x))}" cy="${px(y(point.y.median))}" r="4" fill="${colour(index)}">${label}</circle>`
  }
}

function bars({ series }: Plot, { places, at }: Axis, y: (value: number) => number): string[] {
  const room = (inner.width / places.length) * 0.8
  const width = room / series.length
  return series.flatMap(({ name, points }, index) =>
    points.flatMap((point) => {
      const left = at(point.x) - room / 2 + width * index
      const label = `<title>${escape(`${name}, ${point.x}: ${write(point.y.median)}`)}</title>`
      const shape = `x="${px(left + 1)}" y="${px(y(point.y.median))}" width="${px(width - 2)}" height="${px(y(0) - y(point.y.median))}"`
      return [
        `<rect ${shape} fill="${colour(index)}">${label}</rect>`,
        whisker(left + width / 2, y(point.y.min), y(point.y.max), ink),
        ...(width < labelledWidth ? [] : [text(left + width / 2, y(point.y.max) - 4, write(point.y.median), 'middle', 10)]),
      ]
    }),
  )
}

function legend({ series }: Plot, height: number): string[] {
  let left = frame.left
  return series.flatMap(({ name }, index) => {
    const from = left
    left += 26 + name.length * letterWidth
    return [
      `<rect x="${from}" y="${height - 20}" width="10" height="10" fill="${colour(index)}"/>`,
      text(from + 14, height - 11, name, 'start'),
    ]
  })
}

/** Labels are slanted, so that long ones fit side by side. */
function placeLabel(x: string | number, at: number): string {
  const below = frame.top + inner.height + 16
  if (typeof x === 'number') return text(at, below, x.toLocaleString('en-US'), 'middle')
  return `<g transform="rotate(-40 ${px(at)} ${below})">${text(at, below, x, 'end', 10)}</g>`
}

const gridLine = (value: number, y: (value: number) => number): string =>
  `<line x1="${frame.left}" x2="${size.width - frame.right}" y1="${px(y(value))}" y2="${px(y(value))}" stroke="${ink}" stroke-opacity="0.3"/>${text(frame.left - 6, y(value) + 4, write(value), 'end')}`

const whisker = (x: number, from: number, to: number, stroke: string): string =>
  `<line x1="${px(x)}" x2="${px(x)}" y1="${px(from)}" y2="${px(to)}" stroke="${stroke}" stroke-width="1.5"/>`

const text = (x: number, y: number, words: string, anchor: 'start' | 'middle' | 'end', fontSize = 12): string =>
  `<text x="${px(x)}" y="${px(y)}" text-anchor="${anchor}"${fontSize === 12 ? '' : ` font-size="${fontSize}"`}>${escape(words)}</text>`

const colour = (index: number): string => colours[index % colours.length]!
const px = (value: number): string => String(Math.round(value * 10) / 10)
const escape = (words: string): string => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** A little more than the maximum, so that the ticks are round. */
function roundUp(most: number): number {
  if (most <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(most))
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= most)!
}
