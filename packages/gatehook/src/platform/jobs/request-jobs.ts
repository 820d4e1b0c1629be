/** SQL of the jobs that answer requests to routes with steps. */
import type { Principal } from '../../kernel/principal.ts'
import type { Reader, Row, Tx } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'
import { type DueJob, groupOf, jobCallerOf, policyOf } from './job.ts'

/** The job that answers a request. */
export interface RequestJob extends DueJob {
  readonly state: string
  readonly run_at: number
  readonly purge_at: number | null
}

export const findRequestJob = (from: Reader, request: string) =>
  from.get<Row & RequestJob>(sql`SELECT no, id, kind, name, scope, row_key, input,
      attempt + 1 AS attempt, schedule, caller_group, caller, state, run_at, purge_at
    FROM gh_jobs WHERE request = ${request}`)

interface NewRequestJob {
  readonly id: string
  readonly name: string
  readonly principal: Principal
  readonly request: string
}

/** Inserts the job of a request as one that a node runs; undefined if the request has a job. */
export async function insertRequestJob(
  tx: Tx,
  { id, name, principal, request }: NewRequestJob,
  { node, now }: { readonly node: string; readonly now: number },
): Promise<DueJob | undefined> {
  const kind = 'request'
  const { scope } = principal
  const subject = principal.kind === 'person' ? principal.subject : null
  const input = '{}'
  const caller = jobCallerOf(principal)
  const group = groupOf(scope, caller)
  const row = await tx.get<{ no: number }>(sql`INSERT INTO gh_jobs
    (id, kind, lane, name, scope, subject, caller_group, caller, input, state, run_at, attempt,
      node, heartbeat, request, created_at, started_at)
    VALUES (${id}, ${kind}, ${policyOf(kind).lane}, ${name}, ${scope}, ${subject}, ${group},
      ${caller.name}, ${input}, 'running', ${now}, 1, ${node}, 1, ${request}, ${now}, ${now})
    ON CONFLICT (request) WHERE request IS NOT NULL DO NOTHING RETURNING no`)
  if (!row) return undefined
  const { no } = row
  const job = { no, id, kind, name, scope, input, caller: caller.name } as const
  return { ...job, caller_group: group, attempt: 1, row_key: null, schedule: null }
}
