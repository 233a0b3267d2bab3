/** Every place that says which version this is: server, client, Python module and images go out together under one number. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from './manifest.ts'

type Place = {
  file: string
  /** Each match is one mention; between its two groups stands the version. */
  mention: RegExp
  mentions: number
}

const inManifest = /^(\s+"version": ")[^"]+(",)$/m
const asTag = /(\bturnkeep:)\d[\w.-]*()/
const inUserAgent = /(turnkeep-client\/)[\d.]+( \()/
const places: Place[] = [
  { file: 'package.json', mention: inManifest, mentions: 1 },
  { file: 'packages/client/package.json', mention: inManifest, mentions: 1 },
  { file: 'packages/console/package.json', mention: inManifest, mentions: 1 },
  // Its own, at the top and as the root package, and those of the two packages; a dependency has `resolved` behind its version.
  { file: 'package-lock.json', mention: /("name": "(?:turnkeep|@turnkeep\/\w+)",\s+"version": ")[^"]+(")/, mentions: 4 },
  { file: 'packages/client/src/version.ts', mention: /(version = ')[^']+(')/, mentions: 1 },
  { file: 'packages/client/test/chat.test.ts', mention: inUserAgent, mentions: 1 },
  { file: 'clients/python/turnkeep.py', mention: /^(__version__ = ")[^"]+(")$/m, mentions: 1 },
  { file: 'clients/python/tests/test_client.py', mention: inUserAgent, mentions: 1 },
  { file: 'deploy/Dockerfile', mention: asTag, mentions: 1 },
  { file: 'deploy/compose.yaml', mention: asTag, mentions: 1 },
  { file: 'deploy/kubernetes/deployment.yaml', mention: asTag, mentions: 1 },
  { file: 'docs/operate/docker.md', mention: asTag, mentions: 2 },
]

/** `file: version` for each mention. Throws where a file does not say it as often as it should. */
export function readVersions(): { file: string; version: string }[] {
  return places.flatMap((place) => {
    const found = [...textOf(place).matchAll(everywhere(place))]
    if (found.length !== place.mentions) throw new Error(`${place.file} names the version ${found.length} times, and not ${place.mentions}`)
    return found.map(([all, before, behind]) => ({
      file: place.file,
      version: all.slice(before!.length, all.length - behind!.length),
    }))
  })
}

/** Writes `version` everywhere, or nothing where a mention is missing. Returns the files. */
export function writeVersions(version: string): string[] {
  readVersions()
  for (const place of places)
    writeFileSync(
      join(projectRoot, place.file),
      textOf(place).replace(everywhere(place), (_, before: string, behind: string) => `${before}${version}${behind}`),
    )
  return places.map(({ file }) => file)
}

const textOf = ({ file }: Place): string => {
  if (!existsSync(join(projectRoot, file))) throw new Error(`${file} is gone, where the version stood`)
  return readFileSync(join(projectRoot, file), 'utf8')
}
const everywhere = ({ mention }: Place): RegExp => new RegExp(mention, `${mention.flags}g`)
