/**
 * The `.before()` that keeps a promise: from the fields a version promised and those it shows now
 * to the change that lies between them, as data and as TypeScript. Pure.
 */
import { anyValue, conversion, fieldCode, isComparable } from './convert.ts'
import { isEqual } from './document.ts'
import type { FieldData, FieldsData } from './lock.ts'

export interface FieldPair {
  /** Undefined where the field is new, or gone. */
  readonly old: string | undefined
  readonly now: string | undefined
}

export interface Stub {
  readonly resource: string
  readonly pairs: readonly FieldPair[]
  readonly had: FieldsData
  readonly hadNot: readonly string[]
  readonly renamed: Readonly<Record<string, string>>
  /** `.before('v3', {…})`. */
  readonly code: string
  /** SQL of the migration a renamed column needs, as a start would name it. */
  readonly sql: readonly string[]
}

/** Undefined where the fields break nobody. */
export function stubFor(
  resource: string,
  version: string,
  promised: FieldsData,
  shown: FieldsData,
): Stub | undefined {
  const pairs = pairsOf(promised, shown)
  if (pairs.length === 0) return undefined
  const olds = pairs.flatMap(({ old }) => old ?? [])
  const had = Object.fromEntries(olds.map((name) => [name, promised[name]!]))
  const hadNot = pairs.flatMap(({ now }) => now ?? [])
  const renamed = Object.fromEntries(
    pairs.flatMap(({ old, now }) =>
      old && now && isComparable(promised[old]!, shown[now]!) ? [[old, now]] : [],
    ),
  )
  const sql = Object.entries(renamed)
    .filter(([old, now]) => old !== now)
    .map(([old, now]) => `ALTER TABLE ${resource} RENAME COLUMN ${old} TO ${now}`)
  const change = { resource, pairs, had, hadNot, renamed, sql }
  return { ...change, code: codeOf(change, version, promised, shown) }
}

/** What a caller can tell; text for people, and who may not send it twice, are not among it. */
const visible = ({ kind, nullable, min, max, values, write, ...spec }: FieldData) => ({
  ...{ kind, nullable, min, max, write, default: spec.default },
  values: values && [...values].sort(),
})

/** A field that need not be sent any more breaks nobody. */
const breaks = (old: FieldData, now: FieldData): boolean => {
  const eased = old.write === 'required' && now.write === 'optional'
  const [one, other] = [visible(old), visible(now)]
  return !isEqual(one, eased ? { ...other, write: 'required', default: old.default } : other)
}

function pairsOf(promised: FieldsData, shown: FieldsData): FieldPair[] {
  const same = Object.keys(promised).filter((name) => Object.hasOwn(shown, name))
  const changed = same.filter((name) => breaks(promised[name]!, shown[name]!))
  const gone = Object.keys(promised).filter((name) => !Object.hasOwn(shown, name))
  const fresh = Object.keys(shown).filter((name) => !Object.hasOwn(promised, name))
  const pairs: FieldPair[] = changed.map((name) => ({ old: name, now: name }))
  for (const old of gone) {
    const now =
      fresh.find((name) => !breaks(promised[old]!, shown[name]!)) ??
      fresh.find((name) => promised[old]!.kind === shown[name]!.kind) ??
      (gone.length === 1 && fresh.length === 1 ? fresh[0] : undefined)
    if (now !== undefined) fresh.splice(fresh.indexOf(now), 1)
    pairs.push({ old, now })
  }
  // What is new and may be left out breaks nobody.
  const due = fresh.filter((name) => shown[name]!.write === 'required')
  return [...pairs, ...due.map((now) => ({ old: undefined, now }))]
}

function codeOf(
  { pairs, had, hadNot, renamed }: Omit<Stub, 'code'>,
  version: string,
  promised: FieldsData,
  shown: FieldsData,
): string {
  const lines = (side: 'up' | 'down') =>
    pairs.flatMap(({ old, now }) => {
      const to = side === 'up' ? now : old
      const from = side === 'up' ? old : now
      if (to === undefined) return []
      const [olds, news] = side === 'up' ? [promised, shown] : [shown, promised]
      const { code, decide } =
        from === undefined
          ? { code: anyValue(news[to]!), decide: `where does ${to} come from?` }
          : conversion(olds[from]!, news[to]!, `${side === 'up' ? 'old' : 'row'}.${from}`)
      return [...(decide ? [`// Decide: ${decide}`] : []), `${to}: ${code},`]
    })
  const fields = Object.entries(had).map(([name, spec]) => `${name}: ${fieldCode(spec)},`)
  const names = Object.entries(renamed).map(([old, now]) => `${old}: '${now}'`)
  // A parameter that is not used stands there all the same: without it TypeScript takes 'a' for any
  // text before it knows what the fields are.
  const argument = (side: 'up' | 'down', word: string) => {
    if (lines(side).length === 0) return '()'
    return lines(side).some((line) => line.includes(`${word}.`)) ? `(${word})` : `(_${word})`
  }
  return [
    `.before('${version}', {`,
    `  why: ${quoted(whyOf(pairs))},`,
    ...member('had', fields),
    `  hadNot: [${hadNot.map((name) => `'${name}'`).join(', ')}],`,
    ...member('up', lines('up'), `${argument('up', 'old')} => (`, ')'),
    ...member('down', lines('down'), `${argument('down', 'row')} => (`, ')'),
    ...(names.length > 0 ? [`  renamed: { ${names.join(', ')} },`] : []),
    '})',
  ].join('\n')
}

function member(name: string, lines: readonly string[], before = '', after = ''): string[] {
  const one = lines.length === 1 ? `  ${name}: ${before}{ ${lines[0]!.slice(0, -1)} }${after},` : ''
  if (lines.length === 0) return [`  ${name}: ${before}{}${after},`]
  if (lines.length === 1 && one.length <= 78) return [one]
  return [`  ${name}: ${before}{`, ...lines.map((line) => `    ${line}`), `  }${after},`]
}

const quoted = (text: string): string => `'${text.replaceAll("'", '’')}'`

/** To begin with: the reason only the team knows. */
const whyOf = (pairs: readonly FieldPair[]): string =>
  `${pairs
    .map(({ old, now }) => {
      if (old === undefined) return `${now} is new`
      if (now === undefined) return `${old} is gone`
      return old === now ? `${old} changed` : `${old} is called ${now}`
    })
    .join(', ')}, because …`
