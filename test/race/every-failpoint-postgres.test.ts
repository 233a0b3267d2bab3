/** Runs every-failpoint.ts on PostgreSQL: its commits and its start. */
import { walkEveryFailpoint } from './every-failpoint.ts'

walkEveryFailpoint('postgres')
