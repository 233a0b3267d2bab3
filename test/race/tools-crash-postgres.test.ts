/** Runs tool-kills.ts on PostgreSQL. */
import { testKills } from './tool-kills.ts'

testKills('postgres')
