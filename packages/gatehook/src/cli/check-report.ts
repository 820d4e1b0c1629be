/** The text of `gatehook check`, for a reader who sees it for the first time. Pure. */
import type { Remedy, VersionCompatibility } from '../declare/gate/compatibility.ts'
import type { OperationFinding } from '../declare/gate/finding.ts'
import { type Concern, concernOf, GUIDES } from '../declare/gate/guide.ts'
import type { RenameMigrations } from '../declare/gate/online-rename.ts'
import type { VersionCaller } from '../declare/versions/store.ts'
import { alarm, bold, cyan, dim, green, yellow } from './output.ts'
import type { SqlReport } from './service-sources.ts'

export interface Checked {
  readonly verdicts: readonly VersionCompatibility[]
  /** Undefined if no change breaks a caller. */
  readonly mend: Remedy | undefined
  /** Breaks that remain with the stubs in the declaration. */
  readonly remaining: readonly VersionCompatibility[]
  /** Declared versions that the lock file does not contain. */
  readonly unlocked: readonly string[]
  /** The routes of own code: `POST /quotes/{id}`. */
  readonly routes: readonly string[]
  /** The rules of each resource that the gate cannot compare. */
  readonly uncompared: readonly string[]
  /** Probable mistakes of the declaration. */
  readonly warnings: readonly string[]
}

export interface VersionCallers {
  readonly version: string
  readonly callers: readonly VersionCaller[]
}

interface CheckReport extends Checked {
  /** Undefined without a readable database. */
  readonly callers: readonly VersionCallers[] | undefined
  /** Path of the lock file, relative to the working directory. */
  readonly file: string
  /** `YYYY-MM-DD`. */
  readonly today: string
  readonly rewrite: Rewrite
  readonly sql: SqlReport
}

/** The result of `--update` and `--accept`; `refused`: a change breaks callers. */
export type Rewrite = 'not requested' | 'updated' | 'accepted' | 'refused'

export function reportOf(report: CheckReport): string {
  const brokenVersions = report.verdicts.filter(({ breaks }) => breaks.length > 0)
  const lines = brokenVersions.length > 0 ? breakLines(report, brokenVersions) : passLines(report)
  const warnings = report.warnings.flatMap((warning) => ['', yellow(warning)])
  return [...lines, ...uncomparedLines(report), ...sqlLines(report), ...warnings].join('\n')
}

/** Names the SQL of own code that the engine refuses, and the SQL that reads every customer. */
const sqlLines = ({ sql: { mistakes, unscoped } }: CheckReport): string[] => [
  ...(mistakes.length === 0 ? [] : ['', ...mistakes.map((line) => `${alarm('✗')} ${line}`)]),
  ...(unscoped.length === 0
    ? []
    : [
        '',
        dim('These statements are unscopedSql, which no reach limits:'),
        ...unscoped.map((line) => dim(`  ${line}`)),
      ]),
]

/** Names code that can reject requests, and that no lock describes. */
const uncomparedLines = ({ uncompared }: CheckReport): string[] =>
  uncompared.length === 0
    ? []
    : [
        '',
        dim('The gate does not compare this code, which can reject requests:'),
        ...uncompared.map((sentence) => dim(`  ${sentence}`)),
      ]

function passLines({ verdicts, unlocked, file, rewrite }: CheckReport): string[] {
  const additions = mergedFindings(verdicts, ({ additions }) => additions)
  const lockedVersions = verdicts.map(({ version }) => version)
  const lines =
    lockedVersions.length > 0
      ? [`${green('ok')} ${list(lockedVersions)}: no change breaks a caller.`]
      : []
  if (additions.length > 0)
    lines.push('', bold('New, and harmless:'), ...additions.flatMap(findingLines))
  if (rewrite === 'updated') {
    const promisedVersions = list([...lockedVersions, ...unlocked])
    return [...lines, '', `Wrote ${bold(file)}: it now promises ${promisedVersions}. Commit it.`]
  }
  const [are, they, them] = unlocked.length > 1 ? ['are', 'they', 'them'] : ['is', 'it', 'it']
  if (unlocked.length > 0) {
    lines.push(
      '',
      `${list(unlocked)} ${are} not in ${file} yet: ${they} may still change in any way.`,
    )
  }
  if (additions.length + unlocked.length > 0) {
    const [theyAre, added] = additions.length > 0 ? ['they are', 'them'] : [`${they} ${are}`, them]
    lines.push(dim(`Once ${theyAre} released: ${cyan('gatehook check --update')} adds ${added}.`))
  }
  return lines
}

function breakLines(
  report: CheckReport,
  brokenVersions: readonly VersionCompatibility[],
): string[] {
  const { callers, file, rewrite } = report
  const versions = list(brokenVersions.map(({ version }) => version))
  return [
    `${alarm('✗')} ${bold(`This change breaks programs that call ${versions}.`)}`,
    '',
    ...mergedFindings(brokenVersions, ({ breaks }) => breaks).flatMap((finding) => [
      ...findingLines(finding),
      ...partLines(finding),
    ]),
    '',
    ...callerLines(callers),
    ...(rewrite === 'accepted'
      ? [
          `Wrote ${bold(file)}: it records these breaks and the reason.`,
          hasCallers(callers) ? 'Commit it, and tell the callers above.' : 'Commit it.',
        ]
      : [
          ...remedyLines(report, versions),
          ...(rewrite === 'refused'
            ? ['', `${file} was not written: it contains the promises to callers.`]
            : []),
          '',
          ...wrap(
            `Without callers, or after a review, ${cyan("gatehook check --accept 'REASON'")} ` +
              `records the break in ${file}; all other promises stay.`,
          ),
        ]),
  ]
}

interface MergedFinding {
  readonly sentence: string
  readonly promised: string | undefined
  readonly declared: string | undefined
  readonly concern: Concern
  /** Whether it concerns a component, which the declaration of a resource has. */
  readonly isShared: boolean
  readonly versions: readonly string[]
  readonly operations: readonly string[]
}

const withoutVersion = (text: string) => text.replace(/\/api\/v\d+/g, '')

/** Merges equal findings about several versions; the most frequent first. */
function mergedFindings(
  verdicts: readonly VersionCompatibility[],
  of: (verdict: VersionCompatibility) => readonly OperationFinding[],
): MergedFinding[] {
  const lines = new Map<string, MergedFinding>()
  for (const verdict of verdicts) {
    for (const { sentence, where, operations, promised, declared } of of(verdict)) {
      const text = withoutVersion(sentence)
      const key = JSON.stringify([text, promised, declared])
      const line = lines.get(key)
      lines.set(key, {
        sentence: text,
        promised,
        declared,
        concern: concernOf(where),
        isShared: where.startsWith('#/components/') && (line?.isShared ?? true),
        versions: union(line?.versions, [verdict.version]),
        operations: union(line?.operations, operations.map(withoutVersion)),
      })
    }
  }
  return [...lines.values()].sort((a, b) => b.operations.length - a.operations.length)
}

const union = (some: readonly string[] = [], others: readonly string[]): string[] => [
  ...new Set([...some, ...others]),
]

const MAX_OPERATIONS = 4

function findingLines({ sentence, versions, operations }: MergedFinding): string[] {
  const names = operations.slice(0, MAX_OPERATIONS).join(', ')
  const more = operations.length - MAX_OPERATIONS
  const isNamed = operations.length === 1 && sentence.includes(names)
  const place = isNamed ? '' : more > 0 ? `${names} and ${more} more` : names
  return [`  ${sentence}`, dim(`    ${versions.join(', ')}${place ? ` · ${place}` : ''}`)]
}

/** The promised part, the declared one, and the section of the guide. */
const partLines = ({ promised, declared, concern }: MergedFinding): string[] => [
  dim(`    promised  ${promised}`),
  dim(`    declared  ${declared}`),
  dim(`    guide     ${GUIDES[concern]}`),
]

const hasCallers = (callers: CheckReport['callers']): boolean =>
  callers?.some((version) => version.callers.length > 0) ?? false

function callerLines(callers: CheckReport['callers']): string[] {
  if (!callers) return [dim('Callers are unknown: there is no database with usage counts.'), '']
  const lines = callers.flatMap(({ version, callers: all }) =>
    all.map(({ customer, name, count, last_at }) => {
      const caller = name ? `${name} (${customer})` : customer
      const last = new Date(Number(last_at)).toISOString().slice(0, 10)
      const requests = `${count} ${count === 1 ? 'request' : 'requests'}`
      return `  ${version}  ${caller}: ${requests}, the last on ${last}`
    }),
  )
  return [
    bold('Callers (last 30 days):'),
    ...(lines.length > 0 ? lines : ['  none in this database']),
    '',
  ]
}

function remedyLines(
  { mend, remaining, today, verdicts, routes }: CheckReport,
  versions: string,
): string[] {
  const left = mergedFindings(remaining, ({ breaks }) => breaks)
  const routeRemedy = routeLines(left, routes, mend?.version)
  const leftLines = [
    ...(left.some(({ concern }) => concern === 'event') ? wrap(RETIRE_EVENT) : []),
    ...(left.some(({ concern }) => concern === 'scope') ? wrap(CHANGE_SCOPE) : []),
    ...routeRemedy,
  ]
  const isShape = left.length === 0 || left.some(({ concern }) => concern === 'shape')
  const decision = isShape ? wrap(decisionText(mend?.version ?? 'v2')) : []
  if (!mend || mend.stubs.length === 0) {
    const undo = isShape ? decision : wrap('No .before() can bridge this change: undo it.')
    return [bold('Remedy'), ...undo, ...leftLines]
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
  for (const { number, rename } of mend.migrations) {
    const instruction = `Existing rows need migration ${number} in service({ migrations: […] }):`
    const stop = 'Stop the nodes of the old release before it runs: they read the old column.'
    steps.push([instruction, '', ...code(rename), '', stop])
  }
  for (const migrations of mend.migrations) steps.push(onlineSteps(migrations))
  const hasOlderVersions = verdicts.length > 1 && fresh
  const oldest = verdicts[0]!.version
  const pin = `gatehook keys update ID --pin ${oldest}`
  const retire = `gatehook versions deprecate ${oldest} --sunset DATE`
  return [
    bold('How to keep the promise'),
    ...wrap(
      `${versions} ${versions === base ? 'is' : 'are'} released: requests and responses must not ` +
        `change. A new shape is a new version, ${version}; .before() converts rows for callers ` +
        `of ${base}. Write in \`why\` what those callers must know: it is their changelog.`,
    ),
    ...steps.flatMap((step, n) => ['', `  ${n + 1}. ${step[0]}`, ...step.slice(1).map(indent)]),
    '',
    ...wrap(
      `Then rerun ${cyan('gatehook check')}; callers of ${versions} notice no change in /api and ` +
        'webhooks.',
    ),
    ...wrap(`Pin their keys, or GET /events has the newest shape: ${cyan(pin)}.`),
    ...(hasOlderVersions
      ? wrap(`Two versions are supported at once: ${cyan(retire)} announces the end of ${oldest}.`)
      : []),
    ...(left.length > 0
      ? [
          '',
          bold('These changes remain:'),
          ...left.flatMap(findingLines),
          ...decision,
          ...leftLines,
        ]
      : []),
  ]
}

/** Only the team can say which value replaces another one. */
const decisionText = (version: string): string =>
  `Undo the change, add the new field beside the old one, or declare ${version} with a .before() ` +
  'that converts the values as the guide describes. Never edit the .before() of a released ' +
  'version; add another one above it.'

const RETIRE_EVENT =
  'An event type ends in two releases: emit the new type beside it, and tell its subscribers, ' +
  'which GET /admin/webhooks?event=TYPE lists. Remove it with --accept once they have moved.'

const CHANGE_SCOPE =
  'A scope changes in two releases: declare the new one for a new action or route, and grant it ' +
  'to existing keys and clients. Require it here with --accept once all callers have it.'

/** The remedy for a break of own routes, whose members have changes of their own. */
function routeLines(
  findings: readonly MergedFinding[],
  routes: readonly string[],
  version = 'v2',
): string[] {
  const brokenRoutes = routes.filter((route) =>
    findings.some(
      ({ concern, isShared, operations }) =>
        concern === 'shape' && !isShared && operations.includes(route),
    ),
  )
  if (brokenRoutes.length === 0) return []
  return [
    '',
    ...wrap(
      `${list(brokenRoutes)}: declare the query, input or output as fields({…}); its ` +
        `.before('${version}', {…}) converts the requests and responses of older versions.`,
    ),
  ]
}

/** The steps of a rename while nodes of both releases run. */
const onlineSteps = ({ table, retired, expand, contract }: RenameMigrations): string[] => [
  `Or, while nodes of the old release run on PostgreSQL, add to ${table}:`,
  '',
  ...code(retired),
  '',
  'and these migrations instead, which let both releases read and write:',
  '',
  ...code(expand),
  '',
  `Once all nodes have the new release, remove \`retired\` and add:`,
  '',
  ...code(contract),
]

const placeOf = (version: string, fresh: boolean): string =>
  fresh
    ? 'at the end of the chain, but before any .before(…) it has'
    : `behind its .before('${version}', …) if it has one, before those of older versions`

const code = (text: string): string[] => text.split('\n').map((line) => cyan(line))
const indent = (line: string): string => (line === '' ? '' : `     ${line}`)

const list = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`

const WIDTH = 90

function wrap(text: string): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`
    if (line.length > WIDTH && lines.at(-1) !== '') lines.push(` ${word}`)
    else lines[lines.length - 1] = line
  }
  return lines.map((line) => ` ${line}`)
}
