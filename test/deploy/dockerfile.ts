/** deploy/Dockerfile and .dockerignore as data, for the tests that check their contents. Parses only what that Dockerfile uses. */
export type Instruction = { name: string; value: string }
export type Stage = { from: string; alias: string | undefined; steps: Instruction[] }
export type Copied = { sources: string[]; target: string; from: string | undefined }

/** ARGs before the first FROM are substituted. */
export function readDockerfile(text: string): { args: Record<string, string>; stages: Stage[] } {
  const lines = text
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
  const steps = lines.flatMap((line) => {
    const found = /^([A-Z]+)\s+(.*)$/.exec(line.trim())
    return found ? [{ name: found[1]!, value: found[2]!.trim() }] : []
  })
  const args: Record<string, string> = {}
  const stages: Stage[] = []
  for (const { name, value } of steps) {
    const filled = value.replace(/\$\{(\w+)\}/g, (whole, arg: string) => args[arg] ?? whole)
    if (name === 'ARG') args[value.split('=')[0]!] = value.split('=')[1] ?? ''
    else if (name === 'FROM') stages.push({ from: filled.split(/ as /i)[0]!, alias: filled.split(/ as /i)[1], steps: [] })
    else stages.at(-1)!.steps.push({ name, value })
  }
  return { args, stages }
}

export const valuesOf = (stage: Stage, name: string): string[] => stage.steps.filter((step) => step.name === name).map(({ value }) => value)

export function copiesOf(stage: Stage): Copied[] {
  return valuesOf(stage, 'COPY').map((value) => {
    const words = value.split(/\s+/)
    const paths = words.filter((word) => !word.startsWith('--'))
    const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length)
    return { sources: paths.slice(0, -1), target: paths.at(-1)!, from }
  })
}

export function environmentOf(stage: Stage): Record<string, string> {
  return Object.fromEntries(
    valuesOf(stage, 'ENV').flatMap((value) => value.split(/\s+/).map((pair) => pair.split('=') as [string, string])),
  )
}

/** Whether a path is in the build context, by the last line that matches it or a folder above it. */
export function isSent(dockerignore: string, path: string): boolean {
  let sent = true
  for (const line of dockerignore.split('\n').filter((one) => one !== '' && !one.startsWith('#'))) {
    const pattern = line.replace(/^!/, '')
    if (pattern === '*' || path === pattern || path.startsWith(`${pattern}/`)) sent = line.startsWith('!')
  }
  return sent
}
