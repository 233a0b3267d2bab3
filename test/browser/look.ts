/** `node test/browser/look.ts`: a house that has been lived in, to be looked at in a browser of one's own until Ctrl-C. */
import { once } from 'node:events'
import { seedHouse } from '../support/browser-seed.ts'
import { adminToken } from '../support/test-app.ts'

const house = await seedHouse()
console.log(`${house.adminUrl}/console\nadmin token: ${adminToken}`)
await Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal)))
await house.close()
