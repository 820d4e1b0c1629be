/**
 * Customers that `gatehook_customer` created in a transaction of the team (§17.2). Nodes sign the
 * audit trail, so that one of them records the creation after the commit.
 */
import type { Actor } from '../../history/audit/actor.ts'
import { type AuditContext, recordAudit } from '../../history/audit/store.ts'
import { scopeOf } from '../../kernel/principal.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'

const ACTOR: Actor = { kind: 'system', id: 'outbox' }
/** Customers of one transaction. */
const BATCH = 100

/** SQL of 1 if a customer waits for its row in the trail, else 0: a node polls it. */
export const selectUnaudited = () =>
  sql`(SELECT count(*) FROM (SELECT 1 FROM gh_customers WHERE unaudited_role IS NOT NULL LIMIT 1)
    AS c)`

interface UnauditedRow {
  readonly no: number
  readonly id: string
  readonly name: string
  readonly external_id: string | null
  readonly unaudited_role: string
  readonly created_at: number
}

/** Records the creation of customers by SQL; returns whether further ones wait. */
export async function auditCustomersOfSql(db: Database, context: AuditContext): Promise<boolean> {
  const waiting = await db.all<{ no: number }>(sql`SELECT no FROM gh_customers
    WHERE unaudited_role IS NOT NULL ORDER BY no LIMIT ${BATCH}`)
  if (waiting.length === 0) return false
  await db.write(async (tx) => {
    for (const { no } of waiting) await auditCustomer(tx, no, context)
  })
  return waiting.length === BATCH
}

async function auditCustomer(tx: Tx, no: number, context: AuditContext): Promise<void> {
  const row = await tx.lock<UnauditedRow>(sql`SELECT no, id, name, external_id, unaudited_role,
    created_at FROM gh_customers WHERE no = ${no} AND unaudited_role IS NOT NULL`)
  if (!row) return
  const { id: target, name, external_id, unaudited_role: role, created_at } = row
  await tx.run(sql`UPDATE gh_customers SET unaudited_role = NULL WHERE no = ${no}`)
  const detail = { name, external_id, role, created_at: isoTime(created_at) }
  const scope = scopeOf(no, 'live')
  await recordAudit(tx, { actor: ACTOR, action: 'customer.create', target, scope, detail }, context)
}
