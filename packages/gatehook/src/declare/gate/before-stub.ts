/**
 * Generates the `.before()` that restores a promised shape: pairs the promised fields with the
 * current ones, and returns the change between them as data and as TypeScript. Pure.
 */
import { isEqual } from './document.ts'
import { type FieldSplit, splitDeclaration, splitSql } from './field-split.ts'
import type { LockedField, LockedFields } from './lock.ts'
import type { RenamedColumn } from './online-rename.ts'
import { conversionOf, fieldCode, hasSameStorage, placeholderCode } from './stub-conversion.ts'

interface FieldPair {
  /** Undefined if the field is new. */
  readonly old: string | undefined
  /** Undefined if the field is removed. */
  readonly now: string | undefined
}

export interface BeforeStub {
  readonly resource: string
  readonly pairs: readonly FieldPair[]
  readonly had: LockedFields
  readonly hadNot: readonly string[]
  readonly renamed: Readonly<Record<string, string>>
  /** `.before('v3', {…})`. */
  readonly code: string
  /** The SQL migration that a renamed column needs. */
  readonly sql: readonly string[]
  /** The field that several new ones replace, and the lines that derive its value. */
  readonly split?: FieldSplit | undefined
  readonly fields?: string
  readonly columns?: readonly RenamedColumn[]
}

/** Returns undefined if the current fields break no caller. */
export function beforeStub(
  resource: string,
  version: string,
  promised: LockedFields,
  current: LockedFields,
  split?: FieldSplit,
): BeforeStub | undefined {
  if (split) return splitStub(resource, version, split, [promised, current])
  const pairs = pairFields(promised, current)
  if (pairs.length === 0) return undefined
  const oldNames = pairs.flatMap(({ old }) => old ?? [])
  const had = Object.fromEntries(oldNames.map((name) => [name, promised[name]!]))
  const hadNot = pairs.flatMap(({ now }) => now ?? [])
  const renamed = Object.fromEntries(
    pairs.flatMap(({ old, now }) =>
      old && now && hasSameStorage(promised[old]!, current[now]!) ? [[old, now]] : [],
    ),
  )
  const columns = Object.entries(renamed)
    .filter(([old, now]) => old !== now)
    .map(([old, now]) => ({ table: resource, old, now, field: current[now]! }))
  const sql = columns.map(
    ({ old, now }) => `ALTER TABLE ${resource} RENAME COLUMN ${old} TO ${now}`,
  )
  const change = { resource, pairs, had, hadNot, renamed, sql, columns }
  return { ...change, code: stubCode(change, version, promised, current) }
}

/** Returns the change of a split field, beside the changes of the other fields. */
function splitStub(
  resource: string,
  version: string,
  split: FieldSplit,
  [promised, current]: readonly [promised: LockedFields, current: LockedFields],
): BeforeStub {
  const { old, parts, derived } = split
  const without = (fields: LockedFields, names: readonly string[]): LockedFields =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
  const rest = pairFields(without(promised, [old]), without(current, parts))
  const pairs: FieldPair[] = [
    ...parts.map((now) => ({ old: undefined, now })),
    { old, now: derived },
    ...rest,
  ]
  const present = { ...current, [derived]: promised[old]! }
  const sameNames = rest.filter(
    (pair) => pair.old && pair.now && hasSameStorage(promised[pair.old]!, current[pair.now]!),
  )
  const change = {
    resource,
    pairs,
    had: Object.fromEntries(
      pairs.flatMap((pair) => (pair.old ? [[pair.old, promised[pair.old]!]] : [])),
    ),
    hadNot: pairs.flatMap(({ now }) => now ?? []),
    renamed: Object.fromEntries([[old, derived], ...sameNames.map((pair) => [pair.old, pair.now])]),
    sql: splitSql(resource, split),
    split,
    fields: splitDeclaration(split),
  }
  return { ...change, code: stubCode(change, version, promised, present) }
}

/** Returns the members of a field that callers can observe. */
const observableMembers = (field: LockedField) => {
  const { kind, idPrefix, nullable, min, max, precision, scale, pattern, values, write } = field
  const { members, items } = field
  const size = { min, max, precision, scale, pattern, members, items }
  return {
    kind,
    idPrefix,
    nullable,
    ...size,
    write,
    default: field.default,
    values: values?.toSorted(),
  }
}

/** A field that is no longer required breaks no caller. */
const breaksCallers = (old: LockedField, now: LockedField): boolean => {
  const isRelaxed = old.write === 'required' && now.write === 'optional'
  const [before, after] = [observableMembers(old), observableMembers(now)]
  return !isEqual(
    before,
    isRelaxed ? { ...after, write: before.write, default: before.default } : after,
  )
}

/** Whether the same rows have other ids, to which no conversion of a value leads. */
const hasOtherIds = (old: LockedField, now: LockedField): boolean =>
  old.kind === now.kind && old.target === now.target && old.idPrefix !== now.idPrefix

/** Pairs a removed field with the new field that most likely replaces it. */
function pairFields(promised: LockedFields, current: LockedFields): FieldPair[] {
  const changedNames = Object.keys(promised).filter(
    (name) =>
      Object.hasOwn(current, name) &&
      breaksCallers(promised[name]!, current[name]!) &&
      !hasOtherIds(promised[name]!, current[name]!),
  )
  const removedNames = Object.keys(promised).filter((name) => !Object.hasOwn(current, name))
  const addedNames = Object.keys(current).filter((name) => !Object.hasOwn(promised, name))
  const pairs: FieldPair[] = changedNames.map((name) => ({ old: name, now: name }))
  for (const old of removedNames) {
    const now =
      addedNames.find((name) => !breaksCallers(promised[old]!, current[name]!)) ??
      addedNames.find((name) => promised[old]!.kind === current[name]!.kind) ??
      (removedNames.length === 1 && addedNames.length === 1 ? addedNames[0] : undefined)
    if (now !== undefined) addedNames.splice(addedNames.indexOf(now), 1)
    pairs.push({ old, now })
  }
  // A new field that is optional breaks no caller.
  const requiredNames = addedNames.filter((name) => current[name]!.write === 'required')
  return [...pairs, ...requiredNames.map((now) => ({ old: undefined, now }))]
}

function stubCode(
  { pairs, had, hadNot, renamed }: Omit<BeforeStub, 'code'>,
  version: string,
  promised: LockedFields,
  current: LockedFields,
): string {
  const conversionLines = (direction: 'up' | 'down') =>
    pairs.flatMap(({ old, now }) => {
      const isUp = direction === 'up'
      const [from, to] = isUp ? [old, now] : [now, old]
      if (to === undefined) return []
      const [sources, targets] = isUp ? [promised, current] : [current, promised]
      const { code, decide } =
        from === undefined
          ? { code: placeholderCode(targets[to]!), decide: `where does ${to} come from?` }
          : conversionOf(sources[from]!, targets[to]!, `${isUp ? 'old' : 'row'}.${from}`)
      return [...(decide ? [`// Decide: ${decide}`] : []), `${to}: ${code},`]
    })
  const fields = Object.entries(had).map(([name, spec]) => `${name}: ${fieldCode(spec)},`)
  const names = Object.entries(renamed).map(([old, now]) => `${old}: '${now}'`)
  // TypeScript needs even an unused parameter: without it, it widens 'a' to string before it infers
  // the types of the fields.
  const signature = (lines: readonly string[], parameter: string) => {
    if (lines.length === 0) return '() => ('
    const isUsed = lines.some((line) => line.includes(`${parameter}.`))
    return `(${isUsed ? '' : '_'}${parameter}) => (`
  }
  const [up, down] = [conversionLines('up'), conversionLines('down')]
  return [
    `.before('${version}', {`,
    `  why: '${whyOf(pairs).replaceAll("'", '’')}',`,
    ...memberLines('had', fields),
    `  hadNot: [${hadNot.map((name) => `'${name}'`).join(', ')}],`,
    ...memberLines('up', up, signature(up, 'old'), ')'),
    ...memberLines('down', down, signature(down, 'row'), ')'),
    ...(names.length > 0 ? [`  renamed: { ${names.join(', ')} },`] : []),
    '})',
  ].join('\n')
}

const CODE_WIDTH = 78

function memberLines(name: string, lines: readonly string[], before = '', after = ''): string[] {
  if (lines.length === 0) return [`  ${name}: ${before}{}${after},`]
  const short = `  ${name}: ${before}{ ${lines[0]!.slice(0, -1)} }${after},`
  if (lines.length === 1 && short.length <= CODE_WIDTH) return [short]
  return [`  ${name}: ${before}{`, ...lines.map((line) => `    ${line}`), `  }${after},`]
}

/** Returns a draft: the team completes it with its reason. */
const whyOf = (pairs: readonly FieldPair[]): string =>
  `${pairs
    .map(({ old, now }) => {
      if (old === undefined) return `${now} is new`
      if (now === undefined) return `${old} is removed`
      return old === now ? `${old} changed` : `${old} is now ${now}`
    })
    .join(', ')}, because …`
