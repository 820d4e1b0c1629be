/** Reads the audit trail for other modules. */
import type { Reader, Row } from '../../platform/storage/database.ts'
import { type Sql, sql } from '../../platform/storage/sql.ts'
import type { AuditPrincipal } from './actor.ts'

/**
 * SQL after FROM: the objects of an operator's operations of one kind. Its columns are `target`,
 * `scope`, `at` and `id`, which has the order of time.
 */
export const selectTargets = (action: string, operator: string): Sql =>
  sql`(SELECT target, scope, at, id FROM gh_audit
    WHERE actor_id = ${operator} AND actor_kind = 'operator' AND action = ${action})`

interface CreatedTarget extends Row {
  readonly target: string
  readonly scope: number | null
  readonly at: number
}

/** Lists the objects of an operator's operations of one kind, the newest first. */
export const listTargets = (from: Reader, action: string, operator: string, limit: number) =>
  from.all<CreatedTarget>(sql`SELECT target, scope, at FROM ${selectTargets(action, operator)} AS a
    ORDER BY id DESC LIMIT ${limit}`)

interface AuditedRow extends Row {
  readonly id: string
  readonly at: number
  readonly target: string
  readonly actor_id: string
  /** JSON text. */
  readonly detail: string
}

/** Lists the rows of an action from an id on, the latest first. */
export const listAudited = (
  from: Reader,
  { action, sinceId, limit }: { action: string; sinceId: string; limit: number },
) =>
  from.all<AuditedRow>(sql`SELECT id, at, target, actor_id, detail FROM gh_audit
    WHERE action = ${action} AND id >= ${sinceId} ORDER BY id DESC LIMIT ${limit}`)

interface AuditedOperation {
  readonly at: number
  readonly principal: {
    readonly kind: AuditPrincipal['kind']
    readonly id: string
    readonly name: string | null
  }
}

/** Returns the latest operation of a kind on an object; undefined if there is none. */
export async function findLatestAudited(
  from: Reader,
  action: string,
  target: string,
): Promise<AuditedOperation | undefined> {
  const row = await from.get(sql`SELECT at, actor_kind, actor_id, actor_name FROM gh_audit
    WHERE action = ${action} AND target = ${target} ORDER BY at DESC LIMIT 1`)
  if (!row) return undefined
  const { at, actor_kind: kind, actor_id: id, actor_name: name } = row
  return { at: Number(at), principal: { kind, id, name } }
}
