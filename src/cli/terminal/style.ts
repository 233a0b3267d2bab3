/** Colors and bold text on stdout: only on a terminal, and not if NO_COLOR is set. */
import { styleText } from 'node:util'
import type { CommandRun } from '../command-run.ts'

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow'

export function styled({ stdout, environment }: CommandRun, style: Style, text: string): string {
  const isStyled = stdout.isTTY === true && stdout.hasColors?.(environment) === true
  return isStyled ? styleText(style, text, { validateStream: false }) : text
}
