/** The thread that copies the log of SQLite into the database (`sqlite-checkpoints.ts`). */
import { parentPort, workerData } from 'node:worker_threads'
import { Connection } from './sqlite-connection.ts'

/** Copies of one order at most: others write meanwhile. */
const COPIES_MAX = 8
/** Pages that a commit may copy. */
const LEFT_PAGES = 128

const COPY = { sql: 'PRAGMA wal_checkpoint(PASSIVE)', text: '', values: [] }

const { file } = workerData as { readonly file: string }
const connection = new Connection(file, false)
connection.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0')

/** Copies until few pages are left, or a reader needs the rest. Returns whether nothing failed. */
function copyLog(): boolean {
  try {
    let before = -1
    for (let n = 0; n < COPIES_MAX; n++) {
      const { log, checkpointed } = connection.get(COPY) as Record<string, number>
      if (log! - checkpointed! < LEFT_PAGES || checkpointed === before) return true
      before = checkpointed!
    }
    return true
  } catch {
    return false
  }
}

parentPort!.on('message', () => parentPort!.postMessage(copyLog()))
