/** Databases with the tables of the engine. A copy takes a quarter of the time of migrations. */
import { join } from 'node:path'
import { pino } from 'pino'
import { migrateEngine } from '../../packages/gatehook/src/engine-tables.ts'
import { wallClock } from '../../packages/gatehook/src/kernel/clock.ts'
import type { DatabaseTarget } from '../../packages/gatehook/src/kernel/database-target.ts'
import { openDatabase } from '../../packages/gatehook/src/platform/storage/open.ts'
import { createDatabase } from './postgres.ts'

/** Creates the engine's tables. */
export async function migrate(target: string | DatabaseTarget): Promise<void> {
  const db = await openDatabase(target, { log: pino({ level: 'silent' }) })
  await migrateEngine(db, { clock: wallClock })
  await db.close()
}

/** Creates a SQLite database in the folder and returns its file. */
export async function createTemplateFile(folder: string): Promise<string> {
  const file = join(folder, 'template.db')
  await migrate(`sqlite:${file}`)
  return file
}

/** Creates a database on the server and returns its name. */
export async function createTemplateDatabase(server: string): Promise<string> {
  const url = await createDatabase(server)
  await migrate(url)
  return new URL(url).pathname.slice(1)
}
