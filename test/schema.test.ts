/**
 * The migrations give exactly the golden schema, which is what one reads to know the tables of today. After a wanted change:
 * `node test/schema.test.ts --update-golden`, and the difference is part of the review.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { migrate, readMigrations } from '../src/store/sqlite/migrate.ts'

const golden = new URL('./golden/sqlite.sql', import.meta.url)

/** Every table, index, trigger and view, as the database itself tells it, without what SQLite and its full text make for themselves. */
function schemaOf(db: DatabaseSync): string {
  const objects = db
    .prepare(
      `select sql from sqlite_master m where sql is not null and name not like 'sqlite_%'
         and not exists (select 1 from pragma_table_list l where l.name = m.name and l.type = 'shadow')
       order by tbl_name, case type when 'table' then 0 when 'view' then 1 when 'index' then 2 else 3 end, name`,
    )
    .all() as { sql: string }[]
  return objects.map(({ sql }) => `${sql};\n`).join('\n')
}

test('sqlite: the migrations give the golden schema', () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, readMigrations(), undefined)
  const schema = schemaOf(db)
  db.close()
  if (process.argv.includes('--update-golden')) writeFileSync(golden, schema)
  assert.equal(schema, readFileSync(golden, 'utf8'))
})
