/**
 * The SQL of fields of other rows, `user.email` (§15.9): a look-up of a row along its references,
 * and the rows that refer to a range of an index of the last table. A row out of the caller's reach
 * has no value and matches no filter. Pure; values from requests fill slots.
 */
import { empty, raw, type Sql, sql } from '../../platform/storage/sql.ts'
import { limitOf, ownerCondition, type RelatedColumn, type RelatedStep } from './collection.ts'
import type { Walk } from './walk.ts'

const scope = (walk: Walk): unknown => walk.scope
const person = (walk: Walk): unknown => walk.collection.relatedReach?.person

/** Returns the conditions of a step, each with AND before it. */
function reachConditions(walk: Walk, step: RelatedStep): Sql {
  const limit = limitOf(walk.collection, step)
  const where = step.where === undefined ? empty : raw(` AND ${step.where}`)
  if (limit === 'all') return where
  if (limit === 'none' || !step.owner) return raw(' AND 1 = 0')
  return sql`${where} AND ${ownerCondition(step.owner, scope, person)}`
}

/** Returns a scalar subquery along the references; `result` is its value in the last table. */
function lookUp(walk: Walk, steps: readonly RelatedStep[], from: string, result: Sql): Sql {
  const [step, ...rest] = steps
  const name = `related${rest.length}`
  const value = rest.length > 0 ? lookUp(walk, rest, name, result) : result
  return sql`(SELECT ${value} FROM (SELECT * FROM ${raw(step!.source)}) AS ${raw(name)}
    WHERE ${raw(name)}.scope = ${scope} AND ${raw(name)}.id = ${raw(from)}.${raw(step!.reference)}
    ${reachConditions(walk, step!)})`
}

/** Returns the value of a related field for a row of `from`. */
export const relatedValue = (walk: Walk, { steps, column }: RelatedColumn, from: string): Sql =>
  lookUp(walk, steps, from, raw(column))

/**
 * Returns the condition that a row of `from` has a related row that fulfils `condition`. It is one
 * look-up, which no planner turns into a join.
 */
export const relatedCondition = (
  walk: Walk,
  { steps }: RelatedColumn,
  from: string,
  condition: Sql,
): Sql => sql`${lookUp(walk, steps, from, sql`CASE WHEN ${condition} THEN 1 END`)} = 1`

/** Returns FROM and WHERE of the rows of a step. */
export const rowsOfStep = (walk: Walk, step: RelatedStep, condition: Sql): Sql =>
  sql`FROM (SELECT * FROM ${raw(step.source)}) AS related
    WHERE scope = ${scope} AND ${condition}${reachConditions(walk, step)}`

/**
 * Returns the query for at most `most` ids, as `gh_id`, of the rows of step `level` that lead to a
 * row of the last table in a range of its index.
 */
export function idsOfLevel(
  walk: Walk,
  { steps, filterOrder }: RelatedColumn,
  conditions: readonly Sql[],
  { level, most }: { readonly level: number; readonly most: number },
): Sql {
  const limit = raw(` LIMIT ${most}`)
  const last = steps.length - 1
  const order = raw(conditions.length === 1 ? ` ORDER BY ${filterOrder}` : '')
  const parts = conditions.map(
    (condition) =>
      sql`SELECT * FROM (SELECT id AS gh_id
        ${rowsOfStep(walk, steps[last]!, condition)}${order}${limit}) AS part`,
  )
  let ids = parts.reduce((all, part) => sql`${all} UNION ALL ${part}`)
  for (let at = last - 1; at >= level; at--) {
    const reference = raw(steps[at + 1]!.reference)
    ids = sql`SELECT id AS gh_id FROM (${ids}${limit}) AS via CROSS JOIN
      (SELECT id, ${reference} ${rowsOfStep(walk, steps[at]!, raw('1 = 1'))}) AS referring
      WHERE ${reference} = via.gh_id`
  }
  return sql`${ids}${limit}`
}
