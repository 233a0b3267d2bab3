/** Runs webhook-kills.ts on the embedded store. */
import { testKills } from './webhook-kills.ts'

testKills('sqlite', { turns: Number(process.env['WEBHOOK_TURNS'] ?? 300), kills: Number(process.env['WEBHOOK_KILLS'] ?? 6) })
