/**
 * Breaking changes between versions, composed (§8.8). Handlers, tables and events know the newest
 * shape only; an older version is reached by going `down` through every change above it, a
 * request comes
 * `up` the same way. Pure; knows no resource, no request and no database.
 *
 * The law, which `lawBreach` checks on sample rows: `down(up(down(row)))` equals `down(row)`.
 */

// biome-ignore lint/suspicious/noExplicitAny: rows are untyped below the declaration
type AnyRow = Record<string, any>

/** A breaking change as its declaration tells it (§8.8). */
export interface VersionChange {
  /** The resource it changed. */
  readonly resource: string
  /** The version it came with. */
  readonly version: string
  readonly why: string
}

export interface Change<Spec = unknown> {
  /** The version the change came with; versions before it are served through it. */
  readonly version: string
  readonly why: string
  readonly had: Readonly<Record<string, Spec>>
  readonly hadNot: readonly string[]
  readonly up: (old: AnyRow) => AnyRow
  readonly down: (row: AnyRow) => AnyRow
  /** Old name of a filter or sort → today's. */
  readonly renamed: Readonly<Record<string, string>>
}

/** The way between one older version and the newest. */
export interface Ladder {
  /** The version at the foot. */
  readonly version: string
  /** True where nothing changed: up and down give the row as it is. */
  readonly level: boolean
  down(row: AnyRow): AnyRow
  /**
   * `down` for a row that is used up: it is changed in place, which costs no copies. Fields of
   * newer versions may be left over in it.
   */
  sink(row: AnyRow): AnyRow
  up(old: AnyRow): AnyRow
  /** Names of this version a filter or sort may say → the newest name, or `NOT_ASKED`. */
  readonly renamed: Readonly<Record<string, string>>
  /** Fields that one change made together, of what it had. */
  readonly together: readonly (readonly string[])[]
  /** For an error's pointer: the old fields a newest field is made from. */
  pointer(newest: string): string
}

/**
 * The newest name of an old field that a change made into something else: no column holds its
 * values, so no list is filtered or sorted by it, not even by a newer column of the same name.
 */
const NOT_ASKED = ''

/** `changes`: newest first, as declared. `versions`: all majors, oldest first. */
export function ladder(
  changes: readonly Change[],
  versions: readonly string[],
  version: string,
): Ladder {
  const at = versions.indexOf(version)
  const steps = changes.filter((change) => versions.indexOf(change.version) > at)
  return {
    version,
    level: steps.length === 0,
    down: (row) => steps.reduce(stepDown, row),
    sink(row) {
      for (const step of steps) Object.assign(row, step.down(row))
      return row
    },
    up: (old) => steps.reduceRight(stepUp, old),
    renamed: renamedThrough(steps),
    together: steps.map((step) => step.hadNot),
    pointer: (newest) => pointerDown(steps, newest),
  }
}

/**
 * The shape of `version`: the newest fields with every change above it undone, each old field at
 * the place of what it became.
 */
export function shapeOf<Spec>(
  newest: Readonly<Record<string, Spec>>,
  changes: readonly Change<Spec>[],
  versions: readonly string[],
  version: string,
): Record<string, Spec> {
  const at = versions.indexOf(version)
  return changes
    .filter((change) => versions.indexOf(change.version) > at)
    .reduce<Record<string, Spec>>(shapeBefore, { ...newest })
}

function shapeBefore<Spec>(
  shape: Readonly<Record<string, Spec>>,
  { had, hadNot, renamed }: Change<Spec>,
): Record<string, Spec> {
  const olds = Object.keys(had)
  const placeOf = (old: string) =>
    renamed[old] ??
    (hadNot.includes(old) ? old : hadNot[Math.min(olds.indexOf(old), hadNot.length - 1)])
  const before: Record<string, Spec> = {}
  for (const [name, spec] of Object.entries(shape)) {
    if (!hadNot.includes(name)) before[name] = spec
    for (const old of olds) if (placeOf(old) === name) before[old] = had[old]!
  }
  return { ...before, ...had }
}

/**
 * A body that names only some fields cannot go up by itself: a row is needed around it (§8.8
 * PATCH).
 */
export interface PatchUp {
  /** The changed fields in the newest shape. */
  readonly changed: AnyRow
  /** The whole row in the newest shape, to validate. */
  readonly row: AnyRow
}

/**
 * PATCH in an old version: the row goes down, the patch is merged, the result goes up, and only
 * fields whose `up` result the patch changed are written. So a field that loses detail on the way
 * down keeps it unless the patch touches it.
 *
 * Where the row would then not show what was sent, what was made together is written together:
 * "Anna Maria Sibylla", stored as "Anna Maria" and "Sibylla", comes up as "Anna" and "Maria
 * Sibylla"; patched to "Anna Merian", only the last name differs, and the first one must follow.
 */
export function patchThrough(ladder: Ladder, row: AnyRow, patch: AnyRow): PatchUp {
  if (ladder.level) return { changed: patch, row: { ...row, ...patch } }
  const before = ladder.down(row)
  const lifted = ladder.up(before)
  const after = ladder.up({ ...before, ...patch })
  const changed: AnyRow = {}
  for (const [name, value] of Object.entries(after)) {
    if (value !== lifted[name]) changed[name] = value
  }
  if (!sameShown(ladder, { ...row, ...changed }, after)) {
    for (const group of ladder.together) {
      if (!group.some((name) => Object.hasOwn(changed, name))) continue
      for (const name of group) if (Object.hasOwn(after, name)) changed[name] = after[name]
    }
  }
  return { changed, row: { ...row, ...changed } }
}

/** The first field at which the law fails for a row, or undefined. */
export function lawBreach(ladder: Ladder, row: AnyRow): string | undefined {
  const once = ladder.down(row)
  const again = ladder.down(ladder.up(once))
  const names = new Set([...Object.keys(once), ...Object.keys(again)])
  return [...names].find((name) => !Object.is(once[name], again[name]))
}

function sameShown(ladder: Ladder, one: AnyRow, other: AnyRow): boolean {
  const shown = ladder.down(one)
  return Object.entries(ladder.down(other)).every(([name, value]) => Object.is(value, shown[name]))
}

function stepDown(row: AnyRow, change: Change): AnyRow {
  return { ...omit(row, change.hadNot), ...change.down(row) }
}

function stepUp(old: AnyRow, change: Change): AnyRow {
  return { ...omit(old, Object.keys(change.had)), ...change.up(old) }
}

function omit<T>(row: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> {
  const rest = { ...row }
  for (const name of names) delete rest[name]
  return rest
}

function renamedThrough(steps: readonly Change[]): Record<string, string> {
  let above: Record<string, string> = {}
  for (const step of steps) {
    const here = omit(above, step.hadNot)
    for (const old of Object.keys(step.had)) {
      const newer = step.renamed[old]
      here[old] = newer === undefined ? NOT_ASKED : (above[newer] ?? newer)
    }
    above = here
  }
  return above
}

/**
 * The old field itself where it was only renamed, else the one that stands at its place in `had`.
 */
function pointerDown(steps: readonly Change[], newest: string): string {
  let name = newest
  for (const { had, hadNot, renamed } of steps) {
    const at = hadNot.indexOf(name)
    if (at < 0) continue
    const old = Object.keys(had)
    name = old.find((one) => renamed[one] === name) ?? old[Math.min(at, old.length - 1)] ?? name
  }
  return name
}
