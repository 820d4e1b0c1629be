/** The database of peers that work on a file they are given: users, and the bench's key. */
import { DatabaseSync } from 'node:sqlite'
import { isoTime } from '../../packages/gatehook/src/kernel/time.ts'
import { BENCH_KEY_HASH, userOf } from '../data.ts'

/** Times are text as it is answered, so that no peer has to convert them. */
export function fillPeer(file: string, users: number): void {
  const db = new DatabaseSync(file)
  db.exec(`
    PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
    CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
      email TEXT NOT NULL, created_at TEXT NOT NULL);
    CREATE TABLE api_keys (hash BLOB PRIMARY KEY, scopes TEXT NOT NULL);
    BEGIN`)
  db.prepare('INSERT INTO api_keys VALUES (?, ?)').run(BENCH_KEY_HASH, 'users:read')
  const insert = db.prepare('INSERT INTO users VALUES (?, ?, ?, ?)')
  for (let id = 1; id <= users; id++) {
    const { name, email, createdAt } = userOf(id, false)
    insert.run(id, name, email, isoTime(createdAt))
  }
  db.exec('COMMIT; CREATE UNIQUE INDEX users_email ON users (email)')
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}
