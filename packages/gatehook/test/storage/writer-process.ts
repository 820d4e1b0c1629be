/**
 * A process that writes, for tests: argv is the file, the mode, and numbers. Prints each id when
 * its write was acknowledged.
 */
import { writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { quietLog } from '../../../../test/rig/databases.ts'
import { sql } from '../../src/storage/sql.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'

const [file = '', mode = '', first = '0', count = '0'] = process.argv.slice(2)

/** Waits while the pipe is full: its reader may be slower than we are. */
async function say(id: number): Promise<void> {
  for (;;) {
    try {
      writeSync(1, `${id}\n`)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      await nextTurn()
    }
  }
}

/** Ids from `first`, `count` of them, 32 at a time; `Infinity` until somebody kills us. */
async function write(): Promise<void> {
  const db = await openSqlite(file, { log: quietLog })
  let next = Number(first)
  const end = next + Number(count)
  const writer = async () => {
    while (next < end) {
      const id = next++
      await db.write((tx) => tx.run(sql`INSERT INTO t (id) VALUES (${id})`))
      await say(id) // in the pipe before the next is asked for, whatever happens to us
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
