/** `gatehook versions …`: the acts of §13 on versions, by the same functions as HTTP. */
import type { App } from '../app.ts'
import { Failure } from '../kernel/failure.ts'
import { isoTime } from '../kernel/time.ts'
import { sql } from '../storage/sql.ts'
import type { VersionRepresentation } from '../versions/calendar-update.ts'
import { changelogMarkdown, changelogOf } from '../versions/changelog.ts'
import { representUsage } from '../versions/routes.ts'
import type { About, FamilySpec, Input } from './command.ts'
import { parseDuration } from './duration.ts'
import { cliActor, engine, engineOptions, known } from './engine.ts'
import { serviceOf } from './load.ts'
import { CommandError, UsageError } from './mistake.ts'
import { alarm, bold, dim, table, yellow } from './output.ts'
import { instantOf } from './typed.ts'

const day = (instant: string | null): string => instant?.slice(0, 10) ?? dim('-')

const stateOf = ({ state }: VersionRepresentation): string =>
  state === 'retired' ? alarm(state) : state === 'deprecated' ? yellow(state) : state

/** The version of the command line; a sentence where there is none such. */
function versionOf(input: Input, app: App): string {
  const version = input.args[0] ?? ''
  if (app.versions.includes(version)) return version
  throw new CommandError(`There is no version ${version}; there are ${app.versions.join(', ')}.`)
}

const shownIn = ({ versioning }: App, version: string): VersionRepresentation =>
  versioning.list().find((one) => one.version === version)!

const served = ({ versioning }: App): string[] =>
  versioning.list().flatMap((one) => (one.state === 'retired' ? [] : [one.version]))

const usageOf = (version: string) => sql`
  SELECT no, customer, key_id, client_id, method, route, count, last_at
  FROM gh_version_usage WHERE version = ${version}
  ORDER BY last_at DESC, no`

/** A command that announces something; what needs force is refused with the flag that gives it. */
interface Announcing extends About {
  readonly wish: (
    input: Input,
    app: App,
    before: VersionRepresentation,
  ) => Readonly<Record<string, unknown>>
  readonly said: (version: VersionRepresentation, app: App) => string
}

const announcing = ({ wish, said, ...about }: Announcing) =>
  engine.act({
    ...about,
    act: (input) => async (app) => {
      const version = versionOf(input, app)
      const force = input.options.force === true
      const asked = { ...wish(input, app, shownIn(app, version)), force }
      const act = app.versioning.updateCalendar(version, asked, cliActor())
      return known('version', version, act).catch((error: unknown) => {
        if (!(error instanceof Failure) || error.code !== 'notice_too_short') throw error
        const why = error.errors?.[0]?.message ?? error.message
        throw new CommandError(`${why} To do it nevertheless: --force`)
      })
    },
    said: (version, _, app) => said(version, app),
  })

const deprecate = announcing({
  name: 'deprecate <VERSION>',
  summary: 'announces the end of a version',
  description:
    'From then on every answer of the version says so; from the sunset on it is answered ' +
    'with 410. Running nodes follow within two seconds.',
  options: [
    ['--sunset <WHEN>', 'the day it is gone: 2027-12-01, or a span from now'],
    ['--at <WHEN>', 'when the deprecation begins (default: now)'],
    ['--successor <VERSION>', 'the version to move to (default: the next one)'],
    ['--guide <URL>', 'the migration guide'],
    ['--link <URL>', 'a page about the sunset'],
    ['--force', 'with less than six months of notice'],
  ],
  examples: [['gatehook versions deprecate v1 --sunset 2027-12-01', 'callers are told at once']],
  wish({ options: { sunset, at, successor, guide, link } }, { administration }, before) {
    const now = isoTime(administration.clock.now())
    return {
      deprecated_at: instantOf(at, administration) ?? before.deprecated_at ?? now,
      ...(sunset !== undefined && { sunset_at: instantOf(sunset, administration) }),
      ...(successor !== undefined && { successor }),
      ...(guide !== undefined && { migration_guide: guide }),
      ...(link !== undefined && { sunset_link: link }),
    }
  },
  said: ({ version, deprecated_at, sunset_at, successor }) =>
    `${bold(version)} is deprecated from ${day(deprecated_at)} on` +
    `${sunset_at === null ? '' : ` and gone from ${sunset_at}`}` +
    `${successor === null ? '' : `; callers are told to move to ${successor}`}. ` +
    `Who still calls it: gatehook versions usage ${version}`,
})

const brownout = announcing({
  name: 'brownout <VERSION>',
  summary: 'switches a version off for a while, so that callers notice',
  options: [
    ['--start <WHEN>', 'when it begins'],
    ['--for <SPAN>', 'how long: 1h'],
    ['--clear', 'takes all brownouts back'],
  ],
  examples: [
    ['gatehook versions brownout v1 --start 2027-11-01T10:00Z --for 1h', 'an hour of 410'],
  ],
  wish({ options: { start, for: length, clear } }, { administration }, { brownouts }) {
    if (clear) return { brownouts: [] }
    const spanS = parseDuration(String(length ?? ''))
    if (start === undefined || spanS === undefined) {
      throw new UsageError('Say when and how long: --start 2027-05-01T10:00Z --for 1h')
    }
    const begin = instantOf(start, administration)!
    const end = isoTime((Date.parse(begin) || 0) + spanS * 1000)
    return { brownouts: [...brownouts, { start: begin, end }] }
  },
  said: ({ version, brownouts }) =>
    brownouts.length === 0
      ? `${bold(version)} has no brownouts.`
      : table(
          ['start', 'end'],
          brownouts.map(({ start, end }) => [start, end]),
        ),
})

const retire = announcing({
  name: 'retire <VERSION>',
  summary: 'ends a version now',
  options: [['--force', 'without notice; also the last version that is served']],
  examples: [['gatehook versions retire v1 --force', 'whoever still calls it']],
  wish({ options: { force } }, app, { version, state, sunset_at }) {
    // Callers were told since when it is gone; that day stays.
    if (state === 'retired') return { sunset_at }
    if (force !== true && served(app).every((one) => one === version)) {
      throw new CommandError(
        `${version} is the last version that is served: without it every call of the API is ` +
          'answered with 410. To do it nevertheless: --force',
      )
    }
    return { sunset_at: isoTime(app.administration.clock.now()) }
  },
  said: ({ version, successor }, app) =>
    `${bold(version)} is retired: every call of it is answered with 410` +
    `${successor === null ? '' : ` and the way to ${successor}`}.` +
    (served(app).length > 0
      ? ''
      : `\n${alarm('No version is served any more')}: every call of the API is answered with ` +
        `410. To take it back: gatehook versions deprecate ${version} --sunset 180d --force`),
})

async function log(input: Input): Promise<undefined> {
  const { definition } = await serviceOf(input)
  const entries = changelogOf(definition)
  const [version] = input.args
  const wanted = entries.filter((one) => version === undefined || one.version === version)
  if (wanted.length === 0) throw new CommandError(`There is no version ${version}.`)
  input.out.result({ data: wanted }, () => changelogMarkdown(wanted))
  return
}

export const versions: FamilySpec = {
  name: 'versions',
  summary: 'versions of the API: list, usage, deprecate, brownout, retire, changelog',
  commands: [
    engine.list({
      name: 'list',
      summary: 'every version and its calendar',
      examples: [['gatehook versions list --json', 'for programs']],
      rows:
        () =>
        ({ versioning }) =>
          versioning.list(),
      columns: {
        version: (one) => bold(one.version),
        state: stateOf,
        released: (one) => one.released,
        deprecated: (one) => day(one.deprecated_at),
        sunset: (one) => day(one.sunset_at),
        successor: (one) => one.successor ?? dim('-'),
        guide: (one) => one.migration_guide ?? dim('-'),
      },
    }),
    engine.list({
      name: 'usage <VERSION>',
      summary: 'who still calls a version, on which routes',
      description: 'Running nodes add what they counted every three seconds.',
      examples: [['gatehook versions usage v1', 'the latest call first']],
      rows: (input) => async (app) => {
        const rows = await app.db.arrays(usageOf(versionOf(input, app)))
        return rows.map(representUsage)
      },
      none: ({ args: [version] }) => `Nobody has called ${version}.`,
      columns: {
        customer: (one) => one.customer,
        'key or client': (one) => one.key_id ?? one.client_id ?? dim('-'),
        calls: (one) => String(one.count),
        'last call': (one) => one.last_at,
        route: (one) => `${one.method} ${one.route}`,
      },
    }),
    deprecate,
    brownout,
    retire,
    {
      name: 'changelog [VERSION]',
      summary: 'what broke with each version, from the declaration',
      options: engineOptions,
      examples: [['gatehook versions changelog > CHANGELOG-API.md', 'as Markdown']],
      run: log,
    },
  ],
}
