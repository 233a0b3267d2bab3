/** `npm run release:version -- 0.2.0`: the version of everything that is released, in all its places. Commits and tags nothing. */
import { writeVersions } from './versions.ts'

const [version] = process.argv.slice(2)
if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version)) {
  console.error('release:version: give a version of three numbers, such as 0.2.0')
  process.exit(2)
}
console.log(`${version} in\n  ${writeVersions(version).join('\n  ')}\nNow CHANGELOG.md: what is under Pending goes under ${version}.`)
