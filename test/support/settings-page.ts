/** docs/operate/settings.md, printed from config.ts. */
import { settings } from '../../src/config/config.ts'
import type { Setting } from '../../src/config/config.ts'

const head = `# Settings

All by environment. An empty value counts as absent. An unknown name that begins with \`TURNKEEP_\`, or a value that is
not accepted, stops the start with one line and exit code 2. \`npx turnkeep config\` prints the present values, where each
comes from, and its meaning; secrets are never shown.

This page is printed from \`src/config/config.ts\` by \`node test/docs.test.ts --update-golden\`.

| setting | default | accepted | meaning |
|---|---|---|---|
`

export function settingsPage(): string {
  return head + Object.values<Setting<unknown>>(settings).map(row).join('')
}

const row = ({ name, initial, accepted, meaning, file }: Setting<unknown>): string =>
  `| \`${name}\` | ${initial ? `\`${initial}\`` : file ? `generated, in \`${file}\`` : 'absent'} | ${cell(accepted)} | ${cell(meaning)} |\n`

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<ms>', '`<ms>`')
