/** Runs every-failpoint.ts on SQLite. */
import { walkEveryFailpoint } from './every-failpoint.ts'

walkEveryFailpoint('sqlite')
