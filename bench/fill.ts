/**
 * Fills databases with users: creates that of the handwritten contender, and inserts rows into that
 * of Gatehook, which its first start created.
 */
import { DatabaseSync } from 'node:sqlite'
import { BENCH_KEY_HASH, userOf } from './data.ts'

export interface Fill {
  readonly users: number
  /** Whether all users have the same creation time. */
  readonly tied: boolean
}

export function fillHandmade(file: string, { users, tied }: Fill): void {
  const db = new DatabaseSync(file)
  db.exec(`
    PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
    CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
      email TEXT NOT NULL, created_at INTEGER NOT NULL);
    CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL,
      status TEXT NOT NULL, amount INTEGER NOT NULL, currency TEXT NOT NULL, note TEXT,
      created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
    CREATE TABLE api_keys (hash BLOB PRIMARY KEY, id TEXT NOT NULL, scopes TEXT NOT NULL);
    CREATE TABLE counters (name TEXT PRIMARY KEY, total INTEGER NOT NULL);
  `)
  transaction(db, () => {
    db.prepare('INSERT INTO api_keys VALUES (?, ?, ?)').run(BENCH_KEY_HASH, 'key_1', 'users:read')
    db.prepare("INSERT INTO counters VALUES ('users', ?)").run(users)
    const insert = db.prepare('INSERT INTO users VALUES (?, ?, ?, ?)')
    for (let id = 1; id <= users; id++) {
      const { name, email, createdAt } = userOf(id, tied)
      insert.run(id, name, email, createdAt)
    }
  })
  db.exec('CREATE INDEX users_created_at ON users (created_at, id)')
  db.exec('CREATE UNIQUE INDEX users_email ON users (email)')
  finish(db)
}

export interface GatehookFill extends Fill {
  /** Orders of the service `collections`, each of another user. */
  readonly orders?: number
}

/**
 * Inserts users into a closed database that Gatehook created with the bootstrap key `BENCH_KEY`,
 * and their words if they have a search. Depends on `gh_api_key_secrets (hash, key_id)`,
 * `gh_api_keys (id, scope)`, `users (scope, id, name, email, created_at)`,
 * `gh_words_users (scope, id, word)`, `gh_counters (scope, collection, slot, total)`.
 */
export function fillGatehook(file: string, { users, tied, orders = 0 }: GatehookFill): void {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA synchronous = OFF')
  const key = db
    .prepare(
      `SELECT k.scope FROM gh_api_keys k JOIN gh_api_key_secrets s ON s.key_id = k.id
       WHERE s.hash = ?`,
    )
    .get(BENCH_KEY_HASH)
  if (key === undefined) throw new Error('the first start did not store the bootstrap key')
  const scope = Number(key.scope)
  // Sample data of test mode may have the first ids; the id determines the content of a row.
  const lastId = Number(db.prepare('SELECT coalesce(max(id), 0) AS id FROM users').get()!.id)
  transaction(db, () => {
    const insert = db.prepare(
      `INSERT INTO users (scope, id, name, email, gh_folded_email, created_at)
       VALUES (?1, ?2, ?3, ?4, ?4, ?5)`,
    )
    for (let id = lastId + 1; id <= lastId + users; id++) {
      const { name, email, createdAt } = userOf(id, tied)
      insert.run(scope, id, name, email, createdAt)
    }
    addTotal(db, scope, 'users', users)
    if (hasTable(db, 'gh_words_users')) insertWords(db, scope, lastId, users)
    if (orders > 0) insertOrders(db, scope, lastId + 1, { users, orders })
  })
  finish(db)
}

const hasTable = (db: DatabaseSync, name: string): boolean =>
  db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined

function addTotal(db: DatabaseSync, scope: number, collection: string, total: number): void {
  db.prepare(
    `INSERT INTO gh_counters (scope, collection, slot, total) VALUES (?, ?, 0, ?)
     ON CONFLICT (scope, collection, slot) DO UPDATE SET total = total + excluded.total`,
  ).run(scope, collection, total)
}

function insertWords(db: DatabaseSync, scope: number, lastId: number, users: number): void {
  const insert = db.prepare('INSERT INTO gh_words_users (scope, id, word) VALUES (?, ?, ?)')
  for (let id = lastId + 1; id <= lastId + users; id++) {
    for (const word of userOf(id, false).name.toLowerCase().split(' ')) insert.run(scope, id, word)
  }
}

function insertOrders(
  db: DatabaseSync,
  scope: number,
  firstUser: number,
  { users, orders }: { users: number; orders: number },
): void {
  const insert = db.prepare(
    'INSERT INTO orders (scope, user_id, amount, note, created_at) VALUES (?, ?, ?, ?, ?)',
  )
  for (let n = 0; n < orders; n++) {
    // A prime step: the orders of a page belong to users of distant pages.
    const user = firstUser + ((n * 7_919) % users)
    insert.run(scope, user, 1 + (n % 90_000), `order ${n}`, userOf(n, false).createdAt)
  }
  addTotal(db, scope, 'orders', orders)
}

function transaction(db: DatabaseSync, change: () => void): void {
  db.exec('BEGIN IMMEDIATE')
  change()
  db.exec('COMMIT')
}

function finish(db: DatabaseSync): void {
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}
