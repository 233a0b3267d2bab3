/**
 * Reads messages from a terminal, with line editing and the history of this session. A message can have several lines, by a backslash at
 * the end of a line or by a paste. Input typed while a reply is shown is not echoed into the reply and appears at the next prompt. Writes
 * no file.
 */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import type { CommandRun } from '../command-run.ts'

export type LineInput = {
  /** Returns the next message, or undefined after Ctrl-D or after Ctrl-C twice on an empty line. */
  ask(): Promise<string | undefined>
  /** Sets the function that Ctrl-C calls outside of `ask`, or removes it. */
  onInterrupt(listener: (() => void) | undefined): void
  close(): void
}

const prompt = '› '
const continued = '… '
// The escape sequences that turn bracketed paste mode on and off.
const [markPastes, leavePastes] = ['\u001b[?2004h', '\u001b[?2004l']

export function openLineInput({ stdin, stdout }: CommandRun, tell: (line: string) => void): LineInput {
  let asking: { resolve(message: string | undefined): void; draft: string[] } | undefined
  let pasting = false
  let interruptedOnce = false
  let interrupt: (() => void) | undefined
  const typedAhead: string[] = []
  let ended = false

  const screen = new (class extends Writable {
    get columns(): number {
      return stdout.columns || 80
    }
    override _write(text: Buffer, _encoding: string, done: () => void): void {
      if (asking) stdout.write(text)
      done()
    }
  })()
  const lines = createInterface({ input: stdin, output: screen, terminal: true, prompt, historySize: 200 })
  stdout.on('resize', () => screen.emit('resize'))
  stdout.write(markPastes)

  function take(line: string): void {
    if (!asking) return void typedAhead.push(line)
    interruptedOnce = false
    const open = !pasting && line.endsWith('\\')
    asking.draft.push(open ? line.slice(0, -1) : line)
    if (!open && !pasting) return answer(asking.draft.join('\n'))
    lines.setPrompt(continued)
    if (!pasting) lines.prompt()
  }

  function answer(message: string | undefined): void {
    const { resolve } = asking!
    asking = undefined
    lines.setPrompt(prompt)
    resolve(message)
  }

  const isAsking = (): boolean => asking !== undefined

  lines.on('line', take)
  lines.on('close', () => {
    ended = true
    if (asking) answer(undefined)
  })
  lines.on('SIGINT', () => {
    if (!asking) return interrupt?.()
    const empty = lines.line === '' && asking.draft.length === 0
    stdout.write('\n')
    if (empty && interruptedOnce) return lines.close()
    interruptedOnce = empty
    if (empty) tell('Press Ctrl-C again or Ctrl-D, or type /exit, to quit.')
    asking.draft = []
    // Ctrl-C discards the current line, as in a shell.
    lines.write(null, { ctrl: true, name: 'e' })
    lines.write(null, { ctrl: true, name: 'u' })
    lines.setPrompt(prompt)
    lines.prompt()
  })
  stdin.on('keypress', (_text: string | undefined, key: { name?: string } | undefined) => {
    if (key?.name === 'paste-start') pasting = true
    if (key?.name === 'paste-end') pasting = false
  })

  return {
    ask() {
      return new Promise((resolve) => {
        if (ended) return resolve(undefined)
        asking = { resolve, draft: [] }
        lines.prompt(true)
        for (;;) {
          const line = isAsking() ? typedAhead.shift() : undefined
          if (line === undefined) return
          stdout.write(`${line}\n`)
          take(line)
        }
      })
    },
    onInterrupt(listener) {
      interrupt = listener
    },
    close() {
      stdout.write(leavePastes)
      lines.close()
    },
  }
}
