/**
 * Breaking changes between versions, composed (§8.8). Handlers, tables and events use the newest
 * shape only. A response in an older version goes `down` through every later change; a request
 * goes `up`. Pure; knows no resource, no request and no database.
 *
 * The invariant, which `roundTripMismatch` checks on sample rows: `down(up(down(row)))` equals
 * `down(row)`.
 */
import { isSameValue } from '../../protocol/fields/forms.ts'

// biome-ignore lint/suspicious/noExplicitAny: rows are untyped below the declaration
export type AnyRow = Record<string, any>

/** The announcement of a breaking change (§8.8). */
export interface VersionChange {
  readonly resource: string
  /** The version that introduced the change. */
  readonly version: string
  readonly why: string
}

export interface Change<Spec = unknown> {
  /** The version that introduced the change. Older versions are served through it. */
  readonly version: string
  readonly why: string
  /** The fields of the older version that `hadNot` replaces. */
  readonly had: Readonly<Record<string, Spec>>
  /** The fields of the newer version that the older one lacks. */
  readonly hadNot: readonly string[]
  /** Converts a row of the older shape to the fields in `hadNot`. */
  readonly up: (old: AnyRow) => AnyRow
  /** Converts a row of the newer shape to the fields in `had`. */
  readonly down: (row: AnyRow) => AnyRow
  /** Old name of a filter or sort → current name. */
  readonly renamed: Readonly<Record<string, string>>
}

/** The changes between an older version and the newest. */
export interface ChangeChain {
  /** The older version. */
  readonly version: string
  /** True if there is no change: `up` and `down` return the row itself. */
  readonly isEmpty: boolean
  /** Converts a row of the newest version to the older version. */
  down(row: AnyRow): AnyRow
  /**
   * Converts a row in place, without a copy. Fields of newer versions can remain in it.
   */
  downInPlace(row: AnyRow): AnyRow
  /** Converts a row of the older version to the newest. */
  up(old: AnyRow): AnyRow
  /** Old name of a filter or sort → newest name, or `NOT_A_COLUMN`. */
  readonly renamed: Readonly<Record<string, string>>
  /** The fields that each change writes together. */
  readonly fieldGroups: readonly (readonly string[])[]
  /** Returns the old field for the error pointer of a newest field. */
  oldFieldOf(newest: string): string
  /** Returns the old fields that can decide the value of a newest field. */
  oldFieldsOf(newest: string): string[]
}

/**
 * The newest name of an old field whose value a change converted. No column stores its values, so
 * lists cannot filter or sort by it. A newer column of the same name has other values.
 */
const NOT_A_COLUMN = ''

/**
 * Composes the changes that an older version is served through.
 *
 * @param changes newest first, as declared
 * @param versions all majors, oldest first
 */
export function chainChanges(
  changes: readonly Change[],
  versions: readonly string[],
  version: string,
): ChangeChain {
  const later = changesAfter(changes, versions, version)
  return {
    version,
    isEmpty: later.length === 0,
    down: (row) => later.reduce(applyDown, row),
    downInPlace(row) {
      for (const change of later) Object.assign(row, change.down(row))
      return row
    },
    up: (old) => later.reduceRight(applyUp, old),
    renamed: composeRenames(later),
    fieldGroups: later.map((change) => change.hadNot),
    oldFieldOf: (newest) => oldFieldOf(later, newest),
    oldFieldsOf: (newest) => later.reduce(oldFieldsBefore, [newest]),
  }
}

const changesAfter = <Spec>(
  changes: readonly Change<Spec>[],
  versions: readonly string[],
  version: string,
): Change<Spec>[] => {
  const index = versions.indexOf(version)
  return changes.filter((change) => versions.indexOf(change.version) > index)
}

/** Returns the fields of an older version. Each old field takes the position of its replacement. */
export const fieldsInVersion = <Spec>(
  newest: Readonly<Record<string, Spec>>,
  changes: readonly Change<Spec>[],
  versions: readonly string[],
  version: string,
): Record<string, Spec> =>
  changesAfter(changes, versions, version).reduce<Record<string, Spec>>(fieldsBefore, { ...newest })

function fieldsBefore<Spec>(
  fields: Readonly<Record<string, Spec>>,
  { had, hadNot, renamed }: Change<Spec>,
): Record<string, Spec> {
  const oldNames = Object.keys(had)
  const replacementOf = (old: string) =>
    renamed[old] ??
    (hadNot.includes(old) ? old : hadNot[Math.min(oldNames.indexOf(old), hadNot.length - 1)])
  const before: Record<string, Spec> = {}
  for (const [name, spec] of Object.entries(fields)) {
    if (!hadNot.includes(name)) before[name] = spec
    for (const old of oldNames) if (replacementOf(old) === name) before[old] = had[old]!
  }
  return { ...before, ...had }
}

/** A merge patch of an older version, in the newest shape. */
interface ChainedPatch {
  readonly changed: AnyRow
  /** The whole row, to validate. */
  readonly row: AnyRow
}

/**
 * Applies a merge patch of an older version (§8.8): the row goes down, the patch is merged, and the
 * result goes up. Only fields whose `up` result differs are written. So a field that loses detail
 * on the way down stays, unless the patch changes it.
 *
 * If the row would then not read as it was sent, all fields of the change are written. "Anna Maria
 * Sibylla" is stored as "Anna Maria" and "Sibylla", and goes up as "Anna" and "Maria Sibylla". A
 * patch to "Anna Merian" changes only the last name; the first must follow.
 */
export function patchThroughChain(chain: ChangeChain, row: AnyRow, patch: AnyRow): ChainedPatch {
  if (chain.isEmpty) return { changed: patch, row: { ...row, ...patch } }
  const before = chain.down(row)
  const unpatched = chain.up(before)
  const after = chain.up({ ...before, ...patch })
  const changed: AnyRow = {}
  for (const [name, value] of Object.entries(after)) {
    if (!isSameValue(value, unpatched[name])) changed[name] = value
  }
  if (!isSameInOlderVersion(chain, { ...row, ...changed }, after)) {
    for (const group of chain.fieldGroups) {
      if (!group.some((name) => Object.hasOwn(changed, name))) continue
      for (const name of group) if (Object.hasOwn(after, name)) changed[name] = after[name]
    }
  }
  return { changed, row: { ...row, ...changed } }
}

function isSameInOlderVersion(chain: ChangeChain, left: AnyRow, right: AnyRow): boolean {
  const lower = chain.down(left)
  return Object.entries(chain.down(right)).every(([name, value]) => isSameValue(value, lower[name]))
}

/** Returns the first field that violates the invariant, or undefined. */
export function roundTripMismatch(chain: ChangeChain, row: AnyRow): string | undefined {
  const first = chain.down(row)
  const second = chain.down(chain.up(first))
  const names = new Set([...Object.keys(first), ...Object.keys(second)])
  return [...names].find((name) => !isSameValue(first[name], second[name]))
}

const applyDown = (row: AnyRow, change: Change): AnyRow => ({
  ...omit(row, change.hadNot),
  ...change.down(row),
})

const applyUp = (old: AnyRow, change: Change): AnyRow => ({
  ...omit(old, Object.keys(change.had)),
  ...change.up(old),
})

function omit<T>(row: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> {
  const rest = { ...row }
  for (const name of names) delete rest[name]
  return rest
}

function composeRenames(changes: readonly Change[]): Record<string, string> {
  let newer: Record<string, string> = {}
  for (const change of changes) {
    const names = omit(newer, change.hadNot)
    for (const old of Object.keys(change.had)) {
      const next = change.renamed[old]
      names[old] = next === undefined ? NOT_A_COLUMN : (newer[next] ?? next)
    }
    newer = names
  }
  return newer
}

/** Returns the fields of the older version that a change converts to these fields. */
function oldFieldsBefore(names: readonly string[], { had, hadNot, renamed }: Change): string[] {
  const converted = Object.keys(had).filter((old) => renamed[old] === undefined)
  const oldNames = names.flatMap((name) => {
    if (!hadNot.includes(name)) return [name]
    const old = Object.keys(had).filter((candidate) => renamed[candidate] === name)
    return old.length > 0 ? old : converted
  })
  return [...new Set(oldNames)]
}

/** Returns the renamed old field, else the one at the same position in `had`. */
function oldFieldOf(changes: readonly Change[], newest: string): string {
  let name = newest
  for (const { had, hadNot, renamed } of changes) {
    const index = hadNot.indexOf(name)
    if (index < 0) continue
    const oldNames = Object.keys(had)
    name =
      oldNames.find((old) => renamed[old] === name) ??
      oldNames[Math.min(index, oldNames.length - 1)] ??
      name
  }
  return name
}
