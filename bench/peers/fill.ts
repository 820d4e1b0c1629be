/** Fills the databases of peers with users and a key. */
import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { isoTime } from '../../packages/gatehook/src/kernel/time.ts'
import { BENCH_KEY, BENCH_KEY_HASH, userOf } from '../data.ts'

/** Times are text as in responses, so that no peer converts them. */
type Row = [id: number, name: string, email: string, createdAt: string]

function fill(file: string, users: number, tables: string, insert: string, more = '') {
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; ${tables}; BEGIN`)
  const statement = db.prepare(insert)
  for (let id = 1; id <= users; id++) {
    const { name, email, createdAt } = userOf(id, false)
    const row: Row = [id, name, email, isoTime(createdAt)]
    statement.run(...row)
  }
  db.exec(`COMMIT; ${more}; PRAGMA wal_checkpoint(TRUNCATE)`)
  db.close()
}

/** Creates the database of a peer that uses an existing file. */
export function fillPeer(file: string, users: number): void {
  const key = `INSERT INTO api_keys VALUES (x'${BENCH_KEY_HASH.toString('hex')}', 'users:read')`
  fill(
    file,
    users,
    `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
       email TEXT NOT NULL, created_at TEXT NOT NULL);
     CREATE TABLE api_keys (hash BLOB PRIMARY KEY, scopes TEXT NOT NULL); ${key}`,
    'INSERT INTO users VALUES (?, ?, ?, ?)',
    'CREATE UNIQUE INDEX users_email ON users (email)',
  )
}

/** Inserts users after the first start, which creates the tables. */
export function fillStrapi(file: string, users: number): void {
  fill(
    file,
    users,
    '',
    `INSERT INTO members (id, document_id, name, email, created, created_at, updated_at,
       published_at) VALUES (?1, 'member' || ?1, ?2, ?3, ?4, 0, 0, 0)`,
  )
}

/**
 * Creates table and users after `bootstrap`. The key is the static token of a user with one policy,
 * to read the table; the public policy has no permission. Directus stores tokens as plain text.
 */
export function fillDirectus(file: string, users: number): void {
  const id = randomUUID()
  fill(
    file,
    users,
    `CREATE TABLE members (id INTEGER PRIMARY KEY AUTOINCREMENT, name VARCHAR(255),
       email VARCHAR(255), created_at VARCHAR(255));
     INSERT INTO directus_collections (collection) VALUES ('members');
     INSERT INTO directus_users (id, token) VALUES ('${id}', '${BENCH_KEY}');
     INSERT INTO directus_policies (id, name) VALUES ('${id}', 'bench');
     INSERT INTO directus_access (id, user, policy) VALUES ('${id}', '${id}', '${id}');
     INSERT INTO directus_permissions (collection, action, permissions, fields, policy)
       VALUES ('members', 'read', '{}', '*', '${id}')`,
    'INSERT INTO members VALUES (?, ?, ?, ?)',
  )
}
