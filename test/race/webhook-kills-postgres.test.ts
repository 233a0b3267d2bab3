/** Runs webhook-kills.ts with three processes on one PostgreSQL. */
import { testKills } from './webhook-kills.ts'

testKills('postgres', { turns: Number(process.env['WEBHOOK_TURNS'] ?? 300), kills: Number(process.env['WEBHOOK_KILLS'] ?? 6) })
