/**
 * Generates the `.before()` of renamed fields, the one change whose conversion follows from both
 * declarations: exactly one new field has all the properties of exactly one removed field. Every
 * other change needs a decision of the team. Pure.
 */
import { isEqual } from './document.ts'
import { fieldCode } from './field-code.ts'
import type { LockedField, LockedFields } from './lock.ts'
import type { RenamedColumn } from './online-rename.ts'

interface FieldRename {
  readonly old: string
  readonly now: string
}

export interface RenameStub {
  readonly resource: string
  readonly pairs: readonly FieldRename[]
  readonly had: LockedFields
  readonly hadNot: readonly string[]
  readonly renamed: Readonly<Record<string, string>>
  /** `.before('v3', {…})`. */
  readonly code: string
  readonly columns: readonly RenamedColumn[]
}

/** Returns undefined if no field is certainly a renamed one. */
export function renameStub(
  resource: string,
  version: string,
  promised: LockedFields,
  current: LockedFields,
): RenameStub | undefined {
  const pairs = findRenames(promised, current)
  if (pairs.length === 0) return undefined
  const had = Object.fromEntries(pairs.map(({ old }) => [old, promised[old]!]))
  return {
    resource,
    pairs,
    had,
    hadNot: pairs.map(({ now }) => now),
    renamed: Object.fromEntries(pairs.map(({ old, now }) => [old, now])),
    code: stubCode(pairs, had, version),
    columns: pairs.map(({ old, now }) => ({ old, now, field: current[now]! })),
  }
}

/** Whether a field has all the properties of another one. A field that SQL computes has none. */
const isSameField = (old: LockedField, now: LockedField): boolean =>
  now.derived === undefined && isEqual(comparable(old), comparable(now))

const comparable = ({ values, description: _text, ...spec }: LockedField) => ({
  ...spec,
  values: values?.toSorted(),
})

function findRenames(promised: LockedFields, current: LockedFields): FieldRename[] {
  const removed = Object.keys(promised).filter((name) => !Object.hasOwn(current, name))
  const added = Object.keys(current).filter((name) => !Object.hasOwn(promised, name))
  return removed.flatMap((old) => {
    const isSame = (name: string, now: string) => isSameField(promised[name]!, current[now]!)
    const [now, ...others] = added.filter((name) => isSame(old, name))
    if (now === undefined || others.length > 0) return []
    return removed.some((name) => name !== old && isSame(name, now)) ? [] : { old, now }
  })
}

function stubCode(pairs: readonly FieldRename[], had: LockedFields, version: string): string {
  const fields = Object.entries(had).map(([name, spec]) => `${name}: ${fieldCode(spec)},`)
  const up = pairs.map(({ old, now }) => `${now}: old.${old},`)
  const down = pairs.map(({ old, now }) => `${old}: row.${now},`)
  const why = pairs.map(({ old, now }) => `${old} is now ${now}`).join(', ')
  return [
    `.before('${version}', {`,
    `  why: '${why}, because …',`,
    ...memberLines('had', fields),
    `  hadNot: [${pairs.map(({ now }) => `'${now}'`).join(', ')}],`,
    ...memberLines('up', up, '(old) => (', ')'),
    ...memberLines('down', down, '(row) => (', ')'),
    `  renamed: { ${pairs.map(({ old, now }) => `${old}: '${now}'`).join(', ')} },`,
    '})',
  ].join('\n')
}

const CODE_WIDTH = 78

function memberLines(name: string, lines: readonly string[], before = '', after = ''): string[] {
  const short = `  ${name}: ${before}{ ${lines[0]!.slice(0, -1)} }${after},`
  if (lines.length === 1 && short.length <= CODE_WIDTH) return [short]
  return [`  ${name}: ${before}{`, ...lines.map((line) => `    ${line}`), `  }${after},`]
}
