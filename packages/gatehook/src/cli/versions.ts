/** `gatehook versions …`: the acts of §13 on versions, by the same functions as HTTP. */
import type { App } from '../app.ts'
import { Failure } from '../kernel/failure.ts'
import { isoTime } from '../kernel/time.ts'
import { sql } from '../storage/sql.ts'
import type { ShownVersion } from '../versions/announce.ts'
import { changelogMarkdown, changelogOf } from '../versions/changelog.ts'
import type { CommandSpec, FamilySpec, Input } from './command.ts'
import { parseDuration } from './duration.ts'
import { known, engineOptions as options, withApp } from './engine.ts'
import { cliActor } from './keys.ts'
import { findService, loadService } from './load.ts'
import { CommandError, UsageError } from './mistake.ts'
import { alarm, bold, dim, table, yellow } from './output.ts'

const day = (instant: string | null): string => instant?.slice(0, 10) ?? dim('-')

const stateOf = ({ state }: ShownVersion): string =>
  state === 'retired' ? alarm(state) : state === 'deprecated' ? yellow(state) : state

async function list(input: Input): Promise<undefined> {
  const data = await withApp(input, ({ versioning }) => versioning.shown())
  input.out.result({ data }, () =>
    table(
      ['version', 'state', 'released', 'deprecated', 'sunset', 'successor', 'guide'],
      data.map((one) => [
        bold(one.version),
        stateOf(one),
        one.released,
        day(one.deprecated_at),
        day(one.sunset_at),
        one.successor ?? dim('-'),
        one.migration_guide ?? dim('-'),
      ]),
    ),
  )
  return
}

/** The version of the command line; a sentence where there is none such. */
function versionOf(input: Input, app: App): string {
  const version = input.args[0] ?? ''
  if (app.versions.includes(version)) return version
  throw new CommandError(`There is no version ${version}; there are ${app.versions.join(', ')}.`)
}

const usageOf = (version: string) => sql`
  SELECT customer, key_id, client_id, method, route, count, last_at
  FROM gh_version_usage WHERE version = ${version}
  ORDER BY last_at DESC, no`

async function usage(input: Input): Promise<undefined> {
  const rows = await withApp(input, async (app) => app.db.all(usageOf(versionOf(input, app))))
  const data = rows.map((row) => ({
    customer: row.customer as string,
    key_id: (row.key_id as string) || null,
    client_id: (row.client_id as string) || null,
    method: row.method as string,
    route: row.route as string,
    count: Number(row.count),
    last_at: isoTime(Number(row.last_at)),
  }))
  input.out.result({ data }, () =>
    data.length === 0
      ? `Nobody has called ${input.args[0]}.`
      : table(
          ['customer', 'key or client', 'calls', 'last call', 'route'],
          data.map((one) => [
            one.customer,
            one.key_id ?? one.client_id ?? dim('-'),
            String(one.count),
            one.last_at,
            `${one.method} ${one.route}`,
          ]),
        ),
  )
  return
}

/** An announcement; what needs force is refused with the flag that gives it. */
async function say(
  input: Input,
  wish: (app: App, version: string) => Readonly<Record<string, unknown>>,
  told: (version: ShownVersion, app: App) => string,
): Promise<undefined> {
  const { shown, text } = await withApp(input, async (app) => {
    const version = versionOf(input, app)
    const asked = { ...wish(app, version), force: input.options.force === true }
    const act = app.versioning.announce(version, asked, cliActor())
    const shown = await known('version', version, act).catch((error: unknown) => {
      if (!(error instanceof Failure) || error.code !== 'notice_too_short') throw error
      const why = error.errors?.[0]?.message ?? error.message
      throw new CommandError(`${why} To do it nevertheless: --force`)
    })
    return { shown, text: told(shown, app) }
  })
  input.out.result(shown, () => text)
  return
}

/** An instant or day as it is, a span counted from now. */
function instantOf(text: unknown, { administration }: App): string | undefined {
  if (text === undefined) return undefined
  const spanS = parseDuration(String(text))
  return spanS === undefined ? String(text) : isoTime(administration.clock.now() + spanS * 1000)
}

const deprecate = (input: Input): Promise<undefined> =>
  say(
    input,
    (app, version) => {
      const { sunset, at, successor, guide, link } = input.options
      const since = app.versioning.shown().find((one) => one.version === version)!.deprecated_at
      const now = isoTime(app.administration.clock.now())
      return {
        deprecated_at: instantOf(at, app) ?? since ?? now,
        ...(sunset !== undefined && { sunset_at: instantOf(sunset, app) }),
        ...(successor !== undefined && { successor }),
        ...(guide !== undefined && { migration_guide: guide }),
        ...(link !== undefined && { sunset_link: link }),
      }
    },
    ({ version, deprecated_at, sunset_at, successor }) =>
      `${bold(version)} is deprecated from ${day(deprecated_at)} on` +
      `${sunset_at === null ? '' : ` and gone from ${sunset_at}`}` +
      `${successor === null ? '' : `; callers are told to move to ${successor}`}. ` +
      `Who still calls it: gatehook versions usage ${version}`,
  )

const brownout = (input: Input): Promise<undefined> =>
  say(
    input,
    (app, version) => {
      const { start, for: length, clear } = input.options
      if (clear) return { brownouts: [] }
      const spanS = parseDuration(String(length ?? ''))
      if (start === undefined || spanS === undefined) {
        throw new UsageError('Say when and how long: --start 2027-05-01T10:00Z --for 1h')
      }
      const begin = instantOf(start, app)!
      const end = isoTime((Date.parse(begin) || 0) + spanS * 1000)
      const { brownouts } = app.versioning.shown().find((one) => one.version === version)!
      return { brownouts: [...brownouts, { start: begin, end }] }
    },
    ({ version, brownouts }) =>
      brownouts.length === 0
        ? `${bold(version)} has no brownouts.`
        : table(
            ['start', 'end'],
            brownouts.map(({ start, end }) => [start, end]),
          ),
  )

const served = (app: App): string[] =>
  app.versioning.shown().flatMap((one) => (one.state === 'retired' ? [] : [one.version]))

const retire = (input: Input): Promise<undefined> =>
  say(
    input,
    (app, version) => {
      const { state, sunset_at } = app.versioning.shown().find((one) => one.version === version)!
      // Callers were told since when it is gone; that day stays.
      if (state === 'retired') return { sunset_at }
      if (input.options.force !== true && served(app).every((one) => one === version)) {
        throw new CommandError(
          `${version} is the last version that is served: without it every call of the API is ` +
            'answered with 410. To do it nevertheless: --force',
        )
      }
      return { sunset_at: isoTime(app.administration.clock.now()) }
    },
    ({ version, successor }, app) =>
      `${bold(version)} is retired: every call of it is answered with 410` +
      `${successor === null ? '' : ` and the way to ${successor}`}.` +
      (served(app).length > 0
        ? ''
        : `\n${alarm('No version is served any more')}: every call of the API is answered with ` +
          `410. To take it back: gatehook versions deprecate ${version} --sunset 180d --force`),
  )

async function log({ args, options: { dir }, out }: Input): Promise<undefined> {
  const { definition } = await loadService(findService(String(dir ?? '.')))
  const entries = changelogOf(definition)
  const [version] = args
  const wanted = entries.filter((one) => version === undefined || one.version === version)
  if (wanted.length === 0) throw new CommandError(`There is no version ${version}.`)
  out.result({ data: wanted }, () => changelogMarkdown(wanted))
  return
}

const config: CommandSpec['config'] = ['databaseUrl']
const force = ['--force', 'with less than six months of notice'] as const
const forceLast = ['--force', 'without notice; also the last version that is served'] as const

export const versions: FamilySpec = {
  name: 'versions',
  summary: 'versions of the API: list, usage, deprecate, brownout, retire, changelog',
  commands: [
    {
      name: 'list',
      summary: 'every version and its calendar',
      options,
      config,
      examples: [['gatehook versions list --json', 'for programs']],
      run: list,
    },
    {
      name: 'usage <VERSION>',
      summary: 'who still calls a version, on which routes',
      description: 'Running nodes add what they counted every three seconds.',
      options,
      config,
      examples: [['gatehook versions usage v1', 'the latest call first']],
      run: usage,
    },
    {
      name: 'deprecate <VERSION>',
      summary: 'announces the end of a version',
      description:
        'From then on every answer of the version says so; from the sunset on it is answered ' +
        'with 410. Running nodes follow within two seconds.',
      options: [
        ...options,
        ['--sunset <WHEN>', 'the day it is gone: 2027-12-01, or a span from now'],
        ['--at <WHEN>', 'when the deprecation begins (default: now)'],
        ['--successor <VERSION>', 'the version to move to (default: the next one)'],
        ['--guide <URL>', 'the migration guide'],
        ['--link <URL>', 'a page about the sunset'],
        force,
      ],
      config,
      examples: [
        ['gatehook versions deprecate v1 --sunset 2027-12-01', 'callers are told at once'],
      ],
      run: deprecate,
    },
    {
      name: 'brownout <VERSION>',
      summary: 'switches a version off for a while, so that callers notice',
      options: [
        ...options,
        ['--start <WHEN>', 'when it begins'],
        ['--for <SPAN>', 'how long: 1h'],
        ['--clear', 'takes all brownouts back'],
      ],
      config,
      examples: [
        ['gatehook versions brownout v1 --start 2027-11-01T10:00Z --for 1h', 'an hour of 410'],
      ],
      run: brownout,
    },
    {
      name: 'retire <VERSION>',
      summary: 'ends a version now',
      options: [...options, forceLast],
      config,
      examples: [['gatehook versions retire v1 --force', 'whoever still calls it']],
      run: retire,
    },
    {
      name: 'changelog [VERSION]',
      summary: 'what broke with each version, from the declaration',
      options,
      examples: [['gatehook versions changelog > CHANGELOG-API.md', 'as Markdown']],
      run: log,
    },
  ],
}
