/**
 * A writing process for tests. Its arguments are the file, the mode, the first id and the number of
 * ids. It prints each id once the write is acknowledged.
 */
import { writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTick } from 'node:timers/promises'
import { quietLog } from '../../../../test/rig/databases.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { openSqlite } from '../../src/platform/storage/sqlite.ts'

const [file = '', mode = '', first = '0', count = '0'] = process.argv.slice(2)

/** Prints an id; waits while the pipe is full. */
async function printId(id: number): Promise<void> {
  for (;;) {
    try {
      writeSync(1, `${id}\n`)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      await nextTick()
    }
  }
}

/** Writes `count` ids from `first`, 32 at a time. `Infinity`: until the process is killed. */
async function writeIds(): Promise<void> {
  const db = await openSqlite(file, { log: quietLog })
  let next = Number(first)
  const end = next + Number(count)
  const writer = async () => {
    while (next < end) {
      const id = next++
      await db.write((tx) => tx.run(sql`INSERT INTO t (id) VALUES (${id})`))
      await printId(id) // before the next write starts, so that a kill loses no printed id
    }
  }
  await Promise.all(Array.from({ length: 32 }, writer))
  await db.close()
}

/** Prints `locked` and holds the write lock until a line arrives on standard input. */
function holdLock(): void {
  const raw = new DatabaseSync(file)
  raw.exec('BEGIN IMMEDIATE')
  writeSync(1, 'locked\n')
  process.stdin.once('data', () => {
    raw.exec('COMMIT')
    raw.close()
    process.stdin.destroy()
  })
}

if (mode === 'write') await writeIds()
else holdLock()
