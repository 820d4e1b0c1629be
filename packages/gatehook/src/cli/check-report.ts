/** What `gatehook check` says, for people who see it for the first time. Pure. */
import type { Remedy, VersionCompatibility } from '../gate/compatibility.ts'
import type { OperationFinding } from '../gate/finding.ts'
import type { VersionCaller } from '../versions/store.ts'
import { alarm, bold, cyan, dim, green } from './output.ts'

export interface Checked {
  readonly verdicts: readonly VersionCompatibility[]
  /** Undefined where nothing breaks. */
  readonly mend: Remedy | undefined
  /** What breaks still once the stubs stand in the declaration. */
  readonly remaining: readonly VersionCompatibility[]
  /** Versions that are declared and not promised yet. */
  readonly unlocked: readonly string[]
}

export interface VersionCallers {
  readonly version: string
  readonly callers: readonly VersionCaller[]
}

interface Report extends Checked {
  /** Undefined where no ledger can be read. */
  readonly callers: readonly VersionCallers[] | undefined
  /** The lock, as a path from here. */
  readonly file: string
  /** `YYYY-MM-DD`. */
  readonly today: string
  readonly update: { readonly asked: boolean; readonly done: boolean }
}

export function reportOf(report: Report): string {
  const broken = report.verdicts.filter(({ breaks }) => breaks.length > 0)
  return (broken.length > 0 ? refusal(report, broken) : fine(report)).join('\n')
}

function fine({ verdicts, unlocked, file, update }: Report): string[] {
  const additions = together(verdicts, ({ additions }) => additions)
  const held = verdicts.map(({ version }) => version)
  const lines =
    held.length > 0 ? [`${green('ok')} ${list(held)}: nothing that breaks a caller.`] : []
  if (additions.length > 0) lines.push('', bold('New, and harmless:'), ...additions.flatMap(told))
  if (update.done) {
    const kept = list([...held, ...unlocked])
    return [...lines, '', `Wrote ${bold(file)}: ${kept} as promised from now on. Commit it.`]
  }
  if (unlocked.length > 0) {
    const [are, they] = unlocked.length > 1 ? ['are', 'they'] : ['is', 'it']
    lines.push(
      '',
      `${list(unlocked)} ${are} not in ${file} yet: ${they} may still change in any way.`,
    )
  }
  if (additions.length + unlocked.length > 0) {
    lines.push(dim(`Once they are released: ${cyan('gatehook check --update')} writes them down.`))
  }
  return lines
}

function refusal(report: Report, broken: readonly VersionCompatibility[]): string[] {
  const { callers, file, update } = report
  const versions = list(broken.map(({ version }) => version))
  return [
    `${alarm('✗')} ${bold(`This change breaks programs that call ${versions}.`)}`,
    '',
    ...together(broken, ({ breaks }) => breaks).flatMap(told),
    '',
    ...callerLines(callers),
    ...mendLines(report, versions),
    ...(update.asked ? ['', `${file} was not written: it holds what callers were promised.`] : []),
    '',
    dim(`A version that was never released may change: take its part out of ${file} first.`),
  ]
}

interface Line {
  readonly sentence: string
  readonly versions: readonly string[]
  readonly operations: readonly string[]
}

const bare = (text: string) => text.replace(/\/api\/v\d+/g, '')

/** The same sentence about several versions is told once. */
function together(
  verdicts: readonly VersionCompatibility[],
  of: (one: VersionCompatibility) => readonly OperationFinding[],
): Line[] {
  const lines = new Map<string, { versions: string[]; operations: Set<string> }>()
  for (const verdict of verdicts) {
    for (const { sentence, operations } of of(verdict)) {
      const key = bare(sentence)
      if (!lines.has(key)) lines.set(key, { versions: [], operations: new Set() })
      const line = lines.get(key)!
      if (!line.versions.includes(verdict.version)) line.versions.push(verdict.version)
      for (const one of operations) line.operations.add(bare(one))
    }
  }
  return [...lines]
    .map(([sentence, one]) => ({ ...one, sentence, operations: [...one.operations] }))
    .sort((one, other) => other.operations.length - one.operations.length)
}

const OPERATIONS_SHOWN = 4

function told({ sentence, versions, operations }: Line): string[] {
  const some = operations.slice(0, OPERATIONS_SHOWN).join(', ')
  const more = operations.length - OPERATIONS_SHOWN
  const named = operations.length === 1 && sentence.includes(some)
  const where = named ? '' : more > 0 ? `${some} and ${more} more` : some
  return [`  ${sentence}`, dim(`    ${versions.join(', ')}${where ? ` · ${where}` : ''}`)]
}

function callerLines(callers: Report['callers']): string[] {
  if (!callers)
    return [dim('Who calls them is not known here: there is no database with a ledger.'), '']
  const lines = callers.flatMap(({ version, callers: all }) =>
    all.map(({ customer, name, count, last_at }) => {
      const who = name ? `${name} (${customer})` : customer
      const last = new Date(Number(last_at)).toISOString().slice(0, 10)
      return `  ${version}  ${who}: ${count} calls, the last on ${last}`
    }),
  )
  return [
    bold('Who calls them (last 30 days):'),
    ...(lines.length > 0 ? lines : ['  nobody, as far as this database knows']),
    '',
  ]
}

function mendLines({ mend, remaining, today, verdicts }: Report, versions: string): string[] {
  const left = together(remaining, ({ breaks }) => breaks)
  if (!mend || mend.stubs.length === 0) {
    return [
      bold('What to do'),
      ...wrapped(
        'No .before() can mend this: put it back as it was, or add the new beside the old. If a ' +
          '.before() of a released version was edited: it stays as it is; a further one comes on ' +
          'top.',
      ),
    ]
  }
  const { version, fresh, base, stubs } = mend
  const steps: string[][] = []
  if (fresh)
    steps.push([
      `Declare ${version} in service.ts, last of the versions:`,
      '',
      ...code(`${version}: { released: '${today}' },`),
    ])
  for (const stub of stubs) {
    const place = `Add to the declaration of ${stub.resource}, ${placeOf(version, fresh)}:`
    steps.push([place, '', ...code(stub.code)])
  }
  const sql = stubs.flatMap((stub) => stub.sql)
  if (sql.length > 0) {
    const how = 'Rows that exist need a migration in service({ migrations: […] }), with'
    steps.push([how, '', ...code(sql.join('\n'))])
  }
  const supported = verdicts.length > 1 && fresh
  const oldest = verdicts[0]!.version
  const retire = `gatehook versions deprecate ${oldest} --sunset DATE`
  return [
    bold('How to keep the promise'),
    ...wrapped(
      `${versions} ${versions === base ? 'is' : 'are'} released: what they take and show stays. ` +
        `A new shape is a new version, ${version}; .before() tells how callers of ${base} go on ` +
        'seeing theirs. Say in `why` what they should know: it is their changelog.',
    ),
    ...steps.flatMap((step, n) => ['', `  ${n + 1}. ${step[0]}`, ...step.slice(1).map(indented)]),
    '',
    ...wrapped(`Then run ${cyan('gatehook check')} again; callers of ${versions} notice nothing.`),
    ...(supported
      ? wrapped(
          `Two versions are supported at once: ${cyan(retire)} announces the end of ${oldest}.`,
        )
      : []),
    ...(left.length > 0
      ? ['', bold('What no .before() can mend; put it back as it was:'), ...left.flatMap(told)]
      : []),
  ]
}

const placeOf = (version: string, fresh: boolean): string =>
  fresh
    ? 'at the end of the chain, but before any .before(…) it has'
    : `behind its .before('${version}', …) if it has one, before those of older versions`

const code = (text: string): string[] => text.split('\n').map((line) => cyan(line))
const indented = (line: string): string => (line === '' ? '' : `     ${line}`)

const list = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`

const WIDTH = 90

function wrapped(text: string): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`
    if (line.length > WIDTH && lines.at(-1) !== '') lines.push(` ${word}`)
    else lines[lines.length - 1] = line
  }
  return lines.map((line) => ` ${line}`)
}
