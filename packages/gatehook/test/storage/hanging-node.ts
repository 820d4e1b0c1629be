/** A node that hangs inside of transactions on one row: hanging-node.ts URL COUNT */
import { createLog } from '../../src/kernel/log.ts'
import type { Tx } from '../../src/platform/storage/database.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const [url, count] = process.argv.slice(2)
const db = await openDatabase({ url: url!, node: 'api-1' }, { log: createLog({ level: 'silent' }) })

async function hang(tx: Tx): Promise<void> {
  await tx.run(sql`UPDATE counted SET n = n + 1`)
  await new Promise(() => {})
}

await Promise.all(Array.from({ length: Number(count) }, () => db.write(hang)))
