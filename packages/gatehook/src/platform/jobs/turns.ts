/**
 * Selects the due jobs that a node starts next. When more jobs are due than the node can start,
 * customers take turns, in each the persons and the programs, and within these their callers: a
 * backlog delays the other jobs of its caller (decision 0084).
 */
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Reader } from '../storage/database.ts'
import { empty, join, raw, type Sql, sql } from '../storage/sql.ts'
import type { DueJob } from './job.ts'
import { type DueJobQuery, isDue, readDueJobs, readJobsOf } from './store.ts'

/** Groups with waiting jobs that one pass looks at; the next pass continues after them. */
const GROUPS_MAX = 200
/** Callers of a group with waiting jobs that one pass looks at. */
const CALLERS_MAX = 20
/** Groups whose last caller a node remembers. */
const POSITIONS_MAX = 10_000
/** The position before the first group. Jobs of the installation have group 0. */
const FIRST_GROUP = -1
/** The position before the first caller. */
const FIRST_CALLER = ''

interface GroupRow {
  readonly caller_group: number
  /** Its longest due job; null if none is due. */
  readonly no: number | null
}

interface CallerRow {
  readonly caller_group: number
  readonly caller: string
  /** Its longest due job; null if none is due. */
  readonly no: number | null
}

/** The turns of one node. */
export class JobTurns {
  readonly #groupsMax: number
  /** The group whose turn was last. */
  #position = FIRST_GROUP
  /** The last caller of each group. */
  readonly #callers = new BoundedMap<number, string>(POSITIONS_MAX)

  constructor(groupsMax = GROUPS_MAX) {
    this.#groupsMax = groupsMax
  }

  /** Returns at most `limit` due jobs: one of each group in turn, then the longest due. */
  async select(from: Reader, query: DueJobQuery): Promise<DueJob[]> {
    const oldest = await readDueJobs(from, query)
    if (oldest.length < query.limit) return oldest
    const groups = await this.#takeTurns(from, query)
    if (groups.size === 0) return oldest
    const nos = new Set(await this.#takeCallers(from, query, groups))
    const inTurn = await readJobsOf(from, [...nos])
    return [...inTurn, ...oldest.filter(({ no }) => !nos.has(no))].slice(0, query.limit)
  }

  /** Returns the next groups with a due job, with the longest due one, and moves the position. */
  async #takeTurns(from: Reader, query: DueJobQuery): Promise<Map<number, number>> {
    const taken = new Map<number, number>()
    let left = this.#groupsMax
    for (const after of new Set([this.#position, FIRST_GROUP])) {
      for (const { caller_group, no } of await readGroups(from, query, { after, limit: left })) {
        this.#position = caller_group
        left -= 1
        if (no !== null) taken.set(caller_group, no)
        if (taken.size === query.limit) return taken
      }
      if (left === 0) break
    }
    return taken
  }

  /** Returns the longest due job of the next caller of each group, and moves its position. */
  async #takeCallers(from: Reader, query: DueJobQuery, groups: ReadonlyMap<number, number>) {
    const starts = [...groups.keys()].map(
      (group) => [group, this.#callers.get(group) ?? FIRST_CALLER] as const,
    )
    const nos = new Map(groups)
    for (const { caller_group, caller, no } of await readCallers(from, query, starts)) {
      this.#callers.set(caller_group, caller)
      if (no !== null) nos.set(caller_group, no)
    }
    return nos.values()
  }
}

/** Is null unless the job waits: the expression of an index. */
const waitingGroup = (alias: 'j' | 'w') =>
  raw(
    `CASE WHEN ${alias}.state = 'waiting' AND ${alias}.blocked = 0 THEN ${alias}.caller_group END`,
  )

/** Reads the groups after a position in ascending order: one seek in the index for each. */
const readGroups = (
  from: Reader,
  query: DueJobQuery,
  { after, limit }: { readonly after: number; readonly limit: number },
) =>
  from.all<GroupRow>(sql`WITH RECURSIVE groups(caller_group, position) AS (
      SELECT CAST(${after} AS BIGINT), 0
      UNION ALL
      SELECT (SELECT ${waitingGroup('w')} FROM gh_jobs w
        WHERE w.lane = ${query.lane} AND ${waitingGroup('w')} > groups.caller_group
        ORDER BY ${waitingGroup('w')} LIMIT 1), position + 1
      FROM groups WHERE caller_group IS NOT NULL AND position < ${limit})
    SELECT caller_group, (SELECT j.no FROM gh_jobs j
      WHERE ${waitingGroup('j')} = groups.caller_group AND ${isDue(query)}
      ORDER BY j.run_at, j.no LIMIT 1) AS no
    FROM groups WHERE caller_group IS NOT NULL AND position > 0 ORDER BY caller_group`)

/**
 * Reads the callers of groups in ascending order and then anew, in each after one caller, up to
 * the first with a due job: two seeks in the index for each.
 */
const readCallers = (
  from: Reader,
  query: DueJobQuery,
  starts: readonly (readonly [group: number, after: string])[],
) => {
  const callersOf = (group: Sql, and: Sql) =>
    sql`(SELECT w.caller FROM gh_jobs w WHERE w.lane = ${query.lane}
      AND ${waitingGroup('w')} = ${group} ${and} ORDER BY w.caller LIMIT 1)`
  const next = (group: Sql, after: Sql) =>
    sql`COALESCE(${callersOf(group, sql`AND w.caller > ${after}`)}, ${callersOf(group, empty)})`
  const dueJob = sql`(SELECT j.no FROM gh_jobs j
    WHERE ${waitingGroup('j')} = callers.caller_group AND j.caller = callers.caller
      AND ${isDue(query)} ORDER BY j.run_at, j.no LIMIT 1)`
  const first = starts.map(([group, after]) => {
    // `+`: SQLite uses an index of an expression for values without a type of their own.
    const value = sql`+CAST(${group} AS BIGINT)`
    const caller = next(value, sql`${after}`)
    return sql`SELECT ${value} AS caller_group, ${caller} AS caller, 1 AS position`
  })
  return from.all<CallerRow>(sql`WITH RECURSIVE callers(caller_group, caller, position) AS (
      SELECT * FROM (${join(first, ' UNION ALL ')}) AS first
      UNION ALL
      SELECT caller_group, ${next(sql`callers.caller_group`, sql`callers.caller`)}, position + 1
      FROM callers
      WHERE caller IS NOT NULL AND position < ${CALLERS_MAX} AND ${dueJob} IS NULL)
    SELECT caller_group, caller, ${dueJob} AS no FROM callers WHERE caller IS NOT NULL
    ORDER BY position`)
}
