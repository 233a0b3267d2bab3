/** The shared store passes the conformance suite. */
import { openForConformance } from '../support/own-postgres.ts'
import { noPostgres } from '../support/postgres-server.ts'
import { conformance } from './conformance.ts'

conformance('postgres', () => openForConformance(), noPostgres())
