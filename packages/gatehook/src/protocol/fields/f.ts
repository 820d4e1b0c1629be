/** The words of a declaration: `f`, the calls of all kinds and those of computed fields. */
import { reportMistakes, reportUnknown, type ShapeOf } from './declaration-mistakes.ts'
import { type DerivedSql, type EngineWrite, Field, specOf } from './fields.ts'
import { calls } from './kinds/table.ts'
import type { FieldWrite } from './spec.ts'

/** The call that declared an expression, for the file and the line of a mistake. */
export const derivationSite = new WeakMap<DerivedSql, Error>()

const derivedSql = { sqlite: true, postgres: true } as const satisfies ShapeOf<DerivedSql>

export const f = {
  ...calls,
  /**
   * A value that `.compute(name, …)` of the resource derives from the other fields:
   * `f.computed(f.int())`. It is no column unless it is `.stored()`, and clients only read it.
   */
  computed: <V, X = V>(type: Field<V, FieldWrite, X>): Field<V, EngineWrite, X> =>
    new Field({ ...specOf('f.computed()', type), write: 'never', computed: 'read' }),
  /**
   * A value that the database derives from the other columns of the row: `f.derived(f.int(),
   * 'price * count')`, or `{ sqlite, postgres }` with a text for each database. It is no column;
   * clients only read it. Declared in `list`, it filters and sorts. At most 1,000 characters.
   */
  derived: <V, X = V>(
    type: Field<V, FieldWrite, X>,
    sql: string | DerivedSql,
  ): Field<V, EngineWrite, X> => {
    reportUnknown('f.derived(type, sql)', sql, derivedSql)
    const derived = typeof sql === 'string' ? { sqlite: sql, postgres: sql } : sql
    const site = new Error()
    Error.captureStackTrace(site, f.derived)
    if (typeof derived === 'object' && derived !== null) derivationSite.set(derived, site)
    return new Field({
      ...specOf('f.derived()', type),
      write: 'never',
      computed: 'derived',
      derived,
    })
  },
  /** The instant at which the engine created the row. */
  createdAt: (): Field<number, EngineWrite, string> =>
    new Field({ kind: 'time', write: 'never', nullable: false, stamp: 'created' }),
  /** The instant of the last change of the row, which the engine sets. */
  updatedAt: (): Field<number, EngineWrite, string> =>
    new Field({ kind: 'time', write: 'never', nullable: false, stamp: 'updated' }),
} as const

/** Reports arguments that a kind does not take: plain JavaScript expects `f.string({ max: 9 })`. */
for (const [name, kind] of Object.entries(f) as [keyof typeof f, (...args: never[]) => unknown][]) {
  const declare = (...args: never[]) => {
    if (args.length > kind.length) {
      const accepted = kind.length === 0 ? 'no argument' : `at most ${kind.length} arguments`
      reportMistakes([
        `f.${name}() takes ${accepted}; its methods set the rest, for example .nullable()`,
      ])
    }
    return kind(...args)
  }
  Object.assign(f, { [name]: declare })
}
