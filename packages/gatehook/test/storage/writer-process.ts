/**
 * A process that writes, for tests: argv is the file, the mode, and numbers. Prints each id when
 * its write was acknowledged.
 */
import { writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { quietLog } from '../../../../test/rig/databases.ts'
import { sql } from '../../src/storage/sql.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'

const [file = '', mode = '', first = '0', count = '0'] = process.argv.slice(2)

/** Ids from `first`, `count` of them, 32 at a time; `Infinity` until somebody kills us. */
async function write(): Promise<void> {
  const db = await openSqlite(file, { log: quietLog })
  let next = Number(first)
  const end = next + Number(count)
  const writer = async () => {
    while (next < end) {
      const id = next++
      await db.write((tx) => tx.run(sql`INSERT INTO t (id) VALUES (${id})`))
      writeSync(1, `${id}\n`) // in the pipe before the next is asked for, whatever happens to us
    }
  }
  await Promise.all(Array.from({ length: 32 }, writer))
  await db.close()
}

/** Holds the write lock from `locked` until a line comes on standard input. */
function hold(): void {
  const raw = new DatabaseSync(file)
  raw.exec('BEGIN IMMEDIATE')
  writeSync(1, 'locked\n')
  process.stdin.once('data', () => {
    raw.exec('COMMIT')
    raw.close()
    process.stdin.destroy()
  })
}

if (mode === 'write') await write()
else hold()
