/** SQL of operators, their one-time links and their sessions. Who may do what is decided above. */
import type { Database, Reader, Row, Tx } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'

export interface OperatorRow extends Row {
  readonly id: string
  readonly email: string
  readonly folded: string
  readonly password: string
  readonly disabled: number
  readonly created_at: number
}

export const EMAIL_INDEX = 'gh_operators_folded'

const byName = (folded: string) =>
  sql`SELECT id, email, folded, password, disabled, created_at FROM gh_operators
    WHERE folded = ${folded}`

export const findOperator = (from: Reader, folded: string) => from.get<OperatorRow>(byName(folded))
export const lockOperator = (tx: Tx, folded: string) => tx.lock<OperatorRow>(byName(folded))

export const insertOperator = (tx: Tx, row: OperatorRow) =>
  tx.run(sql`INSERT INTO gh_operators (id, email, folded, password, disabled, created_at)
    VALUES (${row.id}, ${row.email}, ${row.folded}, ${row.password}, ${row.disabled},
            ${row.created_at})`)

export const updateOperator = (
  tx: Tx,
  { id, password, disabled }: Pick<OperatorRow, 'id' | 'password' | 'disabled'>,
) =>
  tx.run(sql`UPDATE gh_operators SET password = ${password}, disabled = ${disabled}
    WHERE id = ${id}`)

export interface LinkRow extends Row {
  readonly id: string
  /** Whose session it opens; null: of nobody yet, to make the first operators. */
  readonly operator: string | null
}

export const insertLink = (tx: Tx, row: LinkRow & { hash: Uint8Array; expires_at: number }) =>
  tx.run(sql`INSERT INTO gh_console_links (hash, id, operator, expires_at)
    VALUES (${row.hash}, ${row.id}, ${row.operator}, ${row.expires_at})`)

/** One of those who come with the same link gets it, and it is gone. */
export const takeLink = (tx: Tx, hash: Uint8Array, now: number) =>
  tx.get<LinkRow>(sql`DELETE FROM gh_console_links WHERE hash = ${hash} AND expires_at > ${now}
    RETURNING id, operator`)

export const dropLinks = (tx: Tx, operator: string) =>
  tx.run(sql`DELETE FROM gh_console_links WHERE operator = ${operator}`)

export interface SessionRow extends Row {
  readonly operator: string | null
  /** The link it came from, where it is nobody's. */
  readonly link: string | null
  readonly email: string | null
  readonly expires_at: number
  readonly customer_no: number
}

export const insertSession = (
  tx: Tx,
  row: Pick<SessionRow, 'operator' | 'link' | 'expires_at'> & {
    readonly id: string
    readonly hash: Uint8Array
    readonly created_at: number
  },
) =>
  tx.run(sql`INSERT INTO gh_console_sessions (hash, id, operator, link, created_at, expires_at)
    VALUES (${row.hash}, ${row.id}, ${row.operator}, ${row.link}, ${row.created_at},
            ${row.expires_at})`)

/** A session that is good now, of an operator who is not disabled. */
export const findSession = (from: Reader, hash: Uint8Array, customer: string, now: number) =>
  from.get<SessionRow>(sql`SELECT s.operator, s.link, o.email, s.expires_at, c.no AS customer_no
    FROM gh_console_sessions s
    JOIN gh_customers c ON c.id = ${customer}
    LEFT JOIN gh_operators o ON o.id = s.operator
    WHERE s.hash = ${hash} AND s.expires_at > ${now}
      AND (s.operator IS NULL OR o.disabled = 0)`)

export const dropSession = (tx: Tx, hash: Uint8Array) =>
  tx.run(sql`DELETE FROM gh_console_sessions WHERE hash = ${hash}`)

export const dropSessions = (tx: Tx, operator: string) =>
  tx.run(sql`DELETE FROM gh_console_sessions WHERE operator = ${operator}`)

/** Links and sessions that are over. */
export const purgeConsole = (db: Database, now: number): Promise<number> =>
  db.write(
    async (tx) =>
      (await tx.run(sql`DELETE FROM gh_console_links WHERE expires_at <= ${now}`)) +
      (await tx.run(sql`DELETE FROM gh_console_sessions WHERE expires_at <= ${now}`)),
  )
